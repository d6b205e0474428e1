// File: fair_rates.h. How flows share links: max-min fair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// What passes links: no faster than `limit`, which may be infinite.
struct FlowOnLinks {
  std::span<const std::int32_t> links;
  double limit = 0;
};

// The rate of each flow, in the unit of the capacities. No flow can get more without one that has
// no more than it getting less: progressive filling (Bertsekas and Gallager, Data Networks, 2nd
// ed., section 6.5.2). Linear in the sum of the flows' links times the number of rates that differ.
// REQUIRES: capacities and limits above 0, a flow passes a link at most once.
//   fair_rates({10}, {{links 0, limit 2}, {links 0, limit inf}, {links 0, limit inf}}) = 2, 4, 4
std::vector<double> fair_rates(std::span<const double> capacity,
                               std::span<const FlowOnLinks> flows);

}  // namespace penstock
