// File: rebuild.h. An order put together anew along its own times.
#pragma once

#include <optional>

#include "budget.h"
#include "instance.h"
#include "pool.h"
#include "random.h"

namespace penstock {

// Rebuilds the order of `candidate` by its own times: nodes go by when they start, or by when they
// must, a quarter of them displaced at random by up to `displaced` of the makespan. Nothing where
// that leads nowhere, or where ops overlap.
std::optional<Candidate> rebuild(const Instance& instance, const Candidate& candidate,
                                 double displaced, Budget& budget, Random& random);

}  // namespace penstock
