// File: zb_v_search.h. ZB-V's order, found by filling gaps.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/schedule.h"

namespace penstock {

// order[actor] of a two-chunk V with at most 2 * actors chunk activations on any actor, for equal
// times of F, I and W and free transfers: an input gradient and a forward in turn, and weight
// gradients where the actor would wait or memory is full.
std::vector<std::vector<Step>> search_zb_v(std::int32_t actors, std::int32_t microbatches);

}  // namespace penstock
