// File: check.h. Everything that is wrong with a schedule.
#pragma once

#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/schedule.h"

namespace penstock {

// Every problem of `schedule`; empty means that it can be lowered, simulated and executed. Reports
// stages that sit where none of their ops run (a V's order on a loop's placement), missing,
// duplicate and out-of-range ops, ops on the wrong actor, B beside I or W of the same microbatch,
// an op before the op it needs on its own actor, updates that miss gradients, a malformed pipeline,
// windows of stages that make no sense, and, when all of that is right, a deadlock with its ring of
// waiting actors. Deterministic order: stages; ops by actor, then position; missing ops by stage
// and microbatch; a deadlock last. At most 100 problems, the last of which then counts the rest.
//
// `source` prefixes each `where` ("mine.json" gives "mine.json:/order/2/7"); empty: "/order/2/7".
// Takes time and memory linear in the number of ops. Thread-safe.
std::vector<Problem> check(const Schedule& schedule, const std::string& source = {});

}  // namespace penstock
