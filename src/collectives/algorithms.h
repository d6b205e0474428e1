// File: algorithms.h. The algorithms of collectives, by a team's numbers. All in nanoseconds.
#pragma once

#include <cstdint>

#include "collectives/team.h"

namespace penstock {

// n-1 steps `rounds` times, S (n-1)/n bytes each time.
double ring_time(const Team& team, int rounds, double bytes);
// REQUIRES: several nodes whose NICs have trees.
double tree_time(const Team& team, double bytes);
// REQUIRES: one node, more than one device, a switch that adds.
double in_switch_time(const Team& team, double bytes);
// Rings inside and between nodes. REQUIRES: several nodes, several members on each, as many.
double hierarchical_time(const Team& team, Collective collective, double bytes);
double chain_time(const Team& team, double bytes);
double binomial_time(const Team& team, double bytes);
double pairwise_time(const Team& team, double bytes);
// Of all_to_all: without the bytes.
double pairwise_latency(const Team& team);

}  // namespace penstock
