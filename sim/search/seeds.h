// File: seeds.h. The catalogue's schedules that answer a search's options.
#pragma once

#include <vector>

#include "penstock/search.h"

namespace penstock {

// What every generator makes of the sizes. Left out: those that refuse them, that split the model
// into other parts than the costs have, whose ops the costs do not price, or that place stages or
// split backwards against the options.
std::vector<Schedule> seeds(const CostTable& costs, const SearchOptions& options);

}  // namespace penstock
