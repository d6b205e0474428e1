// File: longest_path.h. An oracle for makespans: Boost.Graph's longest path over the dependencies.
#pragma once

#include "penstock/costs.h"
#include "random_schedules.h"

namespace penstock {

// The makespan of the ops alone (no step end), where channels have unlimited bandwidth.
Nanoseconds longest_path(const RandomSchedule& schedule, const CostTable& costs);

}  // namespace penstock
