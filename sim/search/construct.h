// File: construct.h. The orders that list scheduling gives.
#pragma once

#include <optional>

#include "budget.h"
#include "instance.h"
#include "pool.h"
#include "random.h"
#include "sweep_times.h"

namespace penstock {

// Adds orders to `pool`: every preference under many warm-ups; then, from the best of these, other
// warm-ups actor by actor.
void construct(const Instance& instance, Budget& budget, Pool& pool);

// An order by a random preference, under random bounds on what each actor holds.
std::optional<Candidate> sample(const Instance& instance, Budget& budget, Random& random);

}  // namespace penstock
