// File: v_stages.h. The two stages of an actor in a V.
#pragma once

#include <cstdint>

#include "penstock/generate.h"

namespace penstock {

// The op of `actor`'s stage on the way down (chunk 0) or back up (chunk 1).
inline Op v_op(OpKind kind, std::int32_t actors, std::int32_t actor, std::int32_t chunk,
               std::int32_t microbatch) {
  return {kind, chunk == 0 ? actor : 2 * actors - 1 - actor, microbatch, 0};
}

// The schedule without its order.
inline Schedule v_schedule(const char* name, const GenerateOptions& options) {
  return {.name = name,
          .pipeline = v_pipeline(options.actors, 2, options.microbatches),
          .order = std::vector<std::vector<Step>>(static_cast<std::size_t>(options.actors))};
}

// Throws Error for other chunks than two, and for sizes that do not fit a grid of each op's slot.
void refuse_grid(const char* name, const GenerateOptions& options);

}  // namespace penstock
