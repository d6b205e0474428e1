// File: boundary.h. Messages between stages, and the NICs that they share.
#pragma once

#include <vector>

#include "penstock/estimate.h"

namespace penstock {

// Sets the message of every stage but the routes' last, for `bytes` of each; hand-overs on one
// actor take no time. Fills in CostTable::links.
void add_boundaries(const EstimateInput& input, const Pipeline& pipeline, CostTable& costs);

}  // namespace penstock
