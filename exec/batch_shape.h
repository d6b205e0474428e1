// File: batch_shape.h. How a run's batch is shared out to the schedule's microbatches and slices.
#pragma once

#include <vector>

#include "model/token_slice.h"
#include "penstock/execute.h"

namespace penstock {

// By unit (units.h). A pipeline says how large its microbatches are relative to each other, and the
// slices of each; the batch says how many sequences and tokens there are. Throws Error, with every
// problem, when they do not share out evenly.
std::vector<TokenSlice> batch_shape(const RunPlan& plan);

}  // namespace penstock
