// File: tabu.h. Moves items along the critical path of an order.
#pragma once

#include <cstdint>

#include "budget.h"
#include "instance.h"
#include "pool.h"
#include "random.h"

namespace penstock {

// Improves `start` until the budget is spent, the bound is met, or many moves in a row bring
// nothing. Each turn takes the most promising move within one block of the critical path (items of
// one actor without idle time between): an item goes before the block's first or behind its last,
// or changes places with its neighbour. A move's makespan is estimated from heads and tails and
// priced in full only once it is taken; what was moved rests for a while, so that the search leaves
// hollows. Limits hold throughout. REQUIRES: fits(instance, start.order).
Candidate tabu_search(const Instance& instance, Candidate start, Nanoseconds bound, Budget& budget,
                      Random& random);

}  // namespace penstock
