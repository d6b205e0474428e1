// File: pipeline.h. The stages, where they sit, and which way each microbatch goes.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/learning.h"

namespace penstock {

// A part of the model placed on an actor. Two stages with the same part are mirrored copies of the
// same weights (DualPipe, Chimera, BitPipe). What a part contains is a Split (split.h): a pipeline
// exists without a model.
struct Stage {
  std::int32_t actor = 0;
  std::int32_t part = 0;
  bool operator==(const Stage&) const = default;
};

// Stage ids in forward order. A stage belongs to exactly one route.
using Route = std::vector<std::int32_t>;

struct Microbatch {
  std::int32_t route = 0;
  std::int32_t sequences = 1;
  // Tokens of each slice (TeraPipe, Seq1F1B); empty: one slice that is the whole sequence. 1 each:
  // into how many slices is known, but not how long they are.
  std::vector<std::int32_t> slice_tokens = {};

  std::int32_t slices() const {
    return slice_tokens.empty() ? 1 : static_cast<std::int32_t>(slice_tokens.size());
  }
  bool operator==(const Microbatch&) const = default;
};

// More actors than this are refused: no machine has them, and a typing error should say so.
inline constexpr std::int32_t kMostActors = 65536;

struct Pipeline {
  std::int32_t actors = 0;
  std::vector<Stage> stages = {};
  std::vector<Route> routes = {};
  std::vector<Microbatch> microbatches = {};
  Learning learning = {};
  bool operator==(const Pipeline&) const = default;
};

// One route over actors * chunks stages; stage s sits on actor s mod actors and holds part s.
// REQUIRES: all arguments >= 1.
//   loop_pipeline(2, 2, 4): stages 0 and 2 on actor 0, 1 and 3 on actor 1, four microbatches
Pipeline loop_pipeline(std::int32_t actors, std::int32_t chunks, std::int32_t microbatches);

// One route over actors * chunks stages that runs down the actors and back up: an odd chunk meets
// them in reverse, so the stages at a turn are neighbours on one actor. Stage s holds part s.
// REQUIRES: all arguments >= 1.
//   v_pipeline(2, 2, 4): stages 0 and 3 on actor 0, 1 and 2 on actor 1, four microbatches
Pipeline v_pipeline(std::int32_t actors, std::int32_t chunks, std::int32_t microbatches);

// Position of every stage on its route; -1 for a stage on none. next_on_route(p)[s] is the stage
// after s on its route, or -1 at the end; previous_on_route likewise. One entry per stage.
// REQUIRES: check(schedule) found no fault in the pipeline.
std::vector<std::int32_t> next_on_route(const Pipeline& pipeline);
std::vector<std::int32_t> previous_on_route(const Pipeline& pipeline);

// The route that each stage lies on; 0 for a stage on none.
// REQUIRES: routes name stages that exist.
std::vector<std::int32_t> route_of_stages(const Pipeline& pipeline);

// Whether any microbatch is cut into token slices.
bool is_sliced(const Pipeline& pipeline);

}  // namespace penstock
