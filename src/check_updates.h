// File: check_updates.h. What is wrong with the optimizer steps that stand in the order.
#pragma once

#include <string>

#include "penstock/schedule.h"
#include "problem_list.h"

namespace penstock {

// A stage updates in ascending order of microbatches; the gradients that an update applies come
// before it; the last update takes the last microbatch; either every stage updates or none does;
// mirrored copies, which have to be summed first, do not. Ops that do not exist are passed over.
void check_updates(const Schedule& schedule, const std::string& source, ProblemList& problems);

}  // namespace penstock
