// File: step_end_cost.h. What follows the last op: gradients added over replicas, weights updated.
#pragma once

#include <cstdint>
#include <vector>

#include "estimate/groups.h"
#include "penstock/estimate.h"

namespace penstock {

// StageCosts::reduce, of a part without its tied embedding.
Nanoseconds reduce_cost(const EstimateInput& input, const Groups& groups, std::int32_t first,
                        std::int32_t end);

// StageCosts::update, from what the part's devices hold.
Nanoseconds update_cost(const EstimateInput& input, const Footprint& footprint);

// The sum of a tied embedding's two gradients, on two actors.
Nanoseconds tied_cost(const EstimateInput& input, std::int32_t actor, std::int32_t other);

// CostTable::global_norm.
Nanoseconds norm_cost(const EstimateInput& input);

}  // namespace penstock
