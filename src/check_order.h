// File: check_order.h. What is wrong with the ops of a schedule, deadlocks left aside.
#pragma once

#include <string>

#include "penstock/depend.h"
#include "penstock/schedule.h"
#include "problem_list.h"

namespace penstock {

// REQUIRES: check_pipeline found nothing.
void check_order(const Schedule& schedule, const Dependencies& dependencies,
                 const std::string& source, ProblemList& problems);

}  // namespace penstock
