// File: zb_search.h. The zero-bubble papers' search for an order, given costs and a memory limit.
#pragma once

#include <cstdint>

#include "penstock/generate.h"

namespace penstock {

// A schedule with one stage per actor and a split backward, made for options.costs. The orders
// tried are simulated with their latencies, without contention; the one whose longest actor (from
// its first start to its last end) is shortest wins, among equals the one that ends first, then the
// one with the fewest microbatches in flight.
//
// No actor holds more than option `memory` (default: `memory`), in activations of a microbatch: a
// forward adds one, an input gradient leaves option `weight_share` of it, which the weight
// gradient frees (default: the largest share of left_bytes in activation_bytes; 0.5 where the costs
// do not give both). Throws Error for costs that lack F, I or W of a stage, and for limits that
// no order meets.
// REQUIRES: options.costs.
Schedule search_zero_bubble(const char* name, const GenerateOptions& options, std::int32_t memory);

}  // namespace penstock
