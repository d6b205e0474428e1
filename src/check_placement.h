// File: check_placement.h. Stages that sit where none of their ops run.
#pragma once

#include <optional>
#include <string>

#include "penstock/schedule.h"
#include "problem_list.h"

namespace penstock {

// An order made for another placement is one mistake, not one per op: where a single actor runs all
// ops of a stage that sits elsewhere, that is told once for all such stages. Returns the schedule
// with these stages where they run, whose order has only the other faults; nullopt when there is no
// such stage, or when moving them would leave an actor without any.
// REQUIRES: check_pipeline() found nothing.
std::optional<Schedule> check_placement(const Schedule& schedule, const std::string& source,
                                        ProblemList& problems);

}  // namespace penstock
