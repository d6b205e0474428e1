// File: post_validation.h. Which part of a step runs before the last update is known to be right.
#pragma once

#include <cstdint>
#include <vector>

#include "linear_order.h"
#include "penstock/depend.h"
#include "penstock/error.h"
#include "penstock/program.h"

namespace penstock {

// Why the actors of this schedule cannot verify their updates in the next step; empty: they can.
std::vector<Problem> post_validation_problems(const Schedule& schedule);

// Moves the speculative steps to the front of a complete order, which stays a linear order, and
// each actor's own is as before. A step is speculative when it is a forward, all its inputs are
// speculative, and all steps of its actor before it are; the last actor, which knows the verdict
// first, has none. Returns how many there are. Linear time.
std::int32_t move_speculative_first(LinearOrder& order, const Schedule& schedule,
                                    const Dependencies& dependencies);

// Writes each actor's Verdict behind its speculative part. REQUIRES: the first `speculative`
// computes are the speculative ones.
void write_verdicts(Program& program, std::int32_t speculative);

}  // namespace penstock
