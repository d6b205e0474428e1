// File: exchange.h. What a block's devices send each other inside an op.
#pragma once

#include <cstdint>

#include "estimate/groups.h"
#include "penstock/estimate.h"

namespace penstock {

// Adds the parts tensor, context, expert and data of F, I and W, as if nothing were hidden.
void add_exchanges(const EstimateInput& input, const Groups& groups, std::int32_t block,
                   const TokenRange& range, StageParts& parts);

}  // namespace penstock
