// File: shaken.h. An order with some items moved at random.
#pragma once

#include <cstdint>
#include <optional>

#include "budget.h"
#include "instance.h"
#include "pool.h"
#include "random.h"

namespace penstock {

// `moves` of them, each by a few places, within limits and without deadlock.
std::optional<Candidate> shaken(const Instance& instance, Candidate candidate, std::int64_t moves,
                                Budget& budget, Random& random);

}  // namespace penstock
