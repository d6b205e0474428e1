// File: zb_greedy.h. One greedy order for given costs and memory.
#pragma once

#include <vector>

#include "penstock/schedule.h"
#include "zb_prices.h"

namespace penstock {

// Choices that no rule settles: the search tries all of them.
struct ZbChoices {
  bool late_first_input = false;  // fill with forwards even if the first input gradient then waits
  bool hold_back = false;         // no forward while the next actor is two behind and busy longer
  bool fill_short_gaps = false;   // a weight gradient in a gap that it does not fit, though others
                                  // have waited longer than this one
};

// order[actor]. Warm-up: as many forwards as memory takes until the first input gradient comes
// back. Then one forward, one input gradient per round, with weight gradients where the actor would
// wait for its input or where memory is full. At the end input gradients go first.
// REQUIRES: memory.most >= ZbMemory::kActivation.
std::vector<std::vector<Step>> zb_greedy(const ZbPrices& prices, const ZbMemory& memory,
                                         const ZbChoices& choices);

}  // namespace penstock
