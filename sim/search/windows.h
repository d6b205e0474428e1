// File: windows.h. What must hold in every order that is fast enough.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "relaxed.h"

namespace penstock {

// Asks whether a makespan can be reached: each node has a window between its head and the last
// start that leaves time for its tail. Of two nodes on one actor that cannot both orders fit, the
// one that does is settled, which narrows other windows, and so on (immediate selection; Carlier
// and Pinson, Management Science 35(2), 1989).
struct Windows {
  bool possible = true;  // false: no order is that fast
  Relaxed relaxed;       // with what has been settled
  std::vector<Nanoseconds> heads;
  std::vector<Nanoseconds> tails;
  std::vector<std::pair<std::int32_t, std::int32_t>> open;  // on one actor, either first
};

// Time: pairs of nodes on an actor, times rounds; at most `rounds` of these.
// REQUIRES: Ancestors::kMostNodes nodes at most.
Windows windows(Relaxed relaxed, Nanoseconds makespan, int rounds);

// Tries both orders of every open pair: where one of them leaves no order that fast, the other is
// settled (shaving; Martin and Shmoys, IPCO 1996). Until nothing changes, or after `tries` of them.
Windows shaved(Windows windows, Nanoseconds makespan, int tries);

// The least makespan that windows() does not exclude, from `bound` (which holds) to `reached`.
Nanoseconds window_bound(const Relaxed& relaxed, Nanoseconds bound, Nanoseconds reached);

}  // namespace penstock
