// File: empty_timeline.h. What a Timeline says of its schedule, before anything has run.
#pragma once

#include "penstock/schedule.h"
#include "penstock/timeline.h"

namespace penstock {

// The schedule's name, sizes, slices, and its stages with their routes. Spans, transfers, tokens
// and the stages' bytes are left to whoever runs it. REQUIRES: check(schedule).empty().
Timeline empty_timeline(const Schedule& schedule, TimelineSource source);

}  // namespace penstock
