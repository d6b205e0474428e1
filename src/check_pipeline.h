// File: check_pipeline.h. What is wrong with the stages, routes and microbatches of a schedule.
#pragma once

#include <string>

#include "penstock/schedule.h"
#include "problem_list.h"

namespace penstock {

// When this adds nothing, Dependencies can be built and every stage has an order of its actor.
void check_pipeline(const Schedule& schedule, const std::string& source, ProblemList& problems);

}  // namespace penstock
