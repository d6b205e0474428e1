// File: block_cost.h. The parts of every op on one block of the model.
#pragma once

#include <cstdint>

#include "estimate/groups.h"
#include "penstock/estimate.h"

namespace penstock {

// F, I, W and, where the block is computed again, R; B is left to the caller.
StageParts block_cost(const EstimateInput& input, const Groups& groups, std::int32_t block,
                      const TokenRange& range);

}  // namespace penstock
