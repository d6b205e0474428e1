// File: generate_near.h. Any schedule of the catalogue, at sizes that its own rule takes.
#pragma once

#include <optional>
#include <string_view>

#include "penstock/error.h"
#include "penstock/generate.h"

namespace penstock {

// At equal costs where the generator needs some and `options` has none.
inline std::optional<Schedule> generate_if_legal(std::string_view name, GenerateOptions options) {
  try {
    if (find_generator(name)->needs_costs && !options.costs) {
      options.costs = parse_costs("F=1,I=1,W=1", options.actors * options.chunks);
    }
    return generate(name, options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// With `wanted`'s actors, or one more, and as few more microbatches as the generator's rule asks
// for; with another number of chunks where it takes that one at no size. Nothing if none is near.
inline std::optional<Schedule> generate_near(std::string_view name, GenerateOptions wanted,
                                             std::int32_t more_actors = 1) {
  const std::int32_t chunks[] = {wanted.chunks, 1, 2, 3, 4};
  const GenerateOptions least = wanted;
  for (const std::int32_t v : chunks) {
    wanted.chunks = v;
    for (wanted.actors = least.actors; wanted.actors <= least.actors + more_actors;
         ++wanted.actors) {
      const std::int32_t most = least.microbatches + 2 * wanted.actors;
      for (wanted.microbatches = least.microbatches; wanted.microbatches <= most;
           ++wanted.microbatches) {
        if (auto schedule = generate_if_legal(name, wanted)) return schedule;
      }
    }
  }
  return std::nullopt;
}

}  // namespace penstock
