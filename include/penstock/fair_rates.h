// File: fair_rates.h. How flows share links: max-min fair.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace penstock {

// What passes links, each at most once.
struct FlowOnLinks {
  std::span<const std::int32_t> links;
  double limit = std::numeric_limits<double>::infinity();  // no faster than that
};

// The rate of each flow, in the unit of the capacities: no flow can get more without one that has
// no more than it getting less. Progressive filling (Bertsekas and Gallager, Data Networks, 2nd
// ed., section 6.5.2): the link that gives its flows the least is full first; its flows keep that,
// and the others share what is left. Time L log L in the sum L of the flows' links.
// REQUIRES: capacities and limits above 0. Pure.
//   fair_rates({10}, {{links 0, limit 2}, {links 0}, {links 0}}) = 2, 4, 4
std::vector<double> fair_rates(std::span<const double> capacity,
                               std::span<const FlowOnLinks> flows);

}  // namespace penstock
