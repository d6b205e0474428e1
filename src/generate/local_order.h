// File: local_order.h. When a stage that learns in windows runs what.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/learning.h"
#include "penstock/schedule.h"

namespace penstock {

// How far ahead of the gradients that it waits for a stage runs, in microbatches.
struct LocalStage {
  std::int32_t warmup = 0;  // forwards before the first backward
  // Input gradients before the first weight gradient, which waits for the stage behind; 0: both in
  // one backward.
  std::int32_t weight_lag = 0;
};

// Of the stages of a route, in order: as far as the stages are that a gradient comes from.
std::vector<LocalStage> local_stages(const Learning& learning, std::int32_t length);

// The order of `stage`, alone on its actor: it updates whenever it has the gradients of another
// `update_every` microbatches, and of the last; 0: not inside its order.
std::vector<Step> local_order(const LocalStage& how, std::int32_t stage, std::int32_t microbatches,
                              std::int32_t update_every);

}  // namespace penstock
