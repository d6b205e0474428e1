// File: dual_order.h. The eight steps that DualPipe's and DualPipeV's actors run.
//
// Both feed every actor from two sides: DualPipe from its two routes, DualPipeV from the two arms
// of its V. An actor at distance d from the end where its near side enters runs the same steps in
// both, so that DualPipeV is one half of a DualPipe of twice as many actors.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/schedule.h"

namespace penstock {

// One of the two streams of microbatches that meet on an actor.
struct DualSide {
  std::int32_t stage = 0;
  std::int32_t first_microbatch = 0;  // the others follow it in order
};

// Whose rules say which backwards are split in two.
enum class DualRule { DeepSeek, JaxPP };

struct DualActor {
  std::int32_t actors = 1;        // between the end where the near side enters and the middle
  std::int32_t actor = 0;         // from that end
  std::int32_t microbatches = 0;  // of each side, at least 2 * actors
  DualSide near;                  // passes here on its way to the middle
  DualSide far;                   // has passed the middle
  DualRule rule = DualRule::DeepSeek;
  bool fused = true;  // false: the ops of a pair run one after the other
};

std::vector<Step> dual_order(const DualActor& actor);

}  // namespace penstock
