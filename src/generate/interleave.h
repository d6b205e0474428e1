// File: interleave.h. Microbatches passing the chunks of an actor in groups.
#pragma once

#include <cstdint>

#include "penstock/generate.h"

namespace penstock {

// A group of microbatches passes chunk 0, then chunk 1, .. before the next group starts; the last
// group may be smaller. Backwards take the same groups with the chunks in reverse.
struct Interleave {
  std::int32_t actors = 1;
  std::int32_t chunks = 1;
  std::int32_t microbatches = 1;
  std::int32_t group = 1;

  // The i-th op of `actor` in that direction, of chunks * microbatches.
  Op forward(std::int32_t actor, std::int32_t i) const;
  Op backward(OpKind kind, std::int32_t actor, std::int32_t i) const;
};

// torch's group: rounds of equal size, as near to one microbatch per actor as divides; fewer
// microbatches than actors are one round. Throws Error with the nearest counts that do.
std::int32_t torch_group(const char* name, const GenerateOptions& options);

}  // namespace penstock
