// File: imported_timeline.h. What another program ran, or planned, as a Timeline.
#pragma once

#include <vector>

#include "penstock/schedule.h"
#include "penstock/timeline.h"

namespace penstock {

// `spans` are those of every op of the schedule and, if there are any, reductions; grouped by
// actor, in order of time. Each input that comes from another actor is a transfer without size,
// under way from its producer's end to its consumer's start. REQUIRES: check(schedule).empty().
Timeline imported_timeline(const Schedule& schedule, std::vector<Span> spans);

}  // namespace penstock
