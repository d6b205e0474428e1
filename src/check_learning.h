// File: check_learning.h. What is wrong with a pipeline's learning rule.
#pragma once

#include <string>

#include "penstock/pipeline.h"
#include "problem_list.h"

namespace penstock {

// Windows that are empty, leave stages out or are longer than a route; windows of what has none; a
// queue that holds nothing.
void check_learning(const Pipeline& pipeline, const std::string& source, ProblemList& problems);

}  // namespace penstock
