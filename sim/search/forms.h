// File: forms.h. Backwards change their form where a whole one takes less time than its halves.
#pragma once

#include "budget.h"
#include "instance.h"
#include "pool.h"

namespace penstock {

// Merges I and W of units on the critical path into B, where I stood, and splits B into both, as
// long as that makes the step faster. Pairs keep their form.
Candidate with_best_forms(const Instance& instance, Candidate candidate, Budget& budget);

}  // namespace penstock
