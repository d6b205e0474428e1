// File: replay.h. A measured run as costs, to separate two errors of a prediction.
#pragma once

#include "penstock/costs.h"
#include "penstock/timeline.h"

namespace penstock {

// `profile` with the duration of every op, and of every update, replaced by what `measured` took.
// Simulating with these costs tells how much of a prediction's error comes from the schedule's
// model (order, messages, waiting) rather than from op durations that vary. Message and reduction
// costs stay the profile's, and waiting is never part of an op's duration. REQUIRES: profile.stages
// has an entry per stage of the timeline.
CostTable replay_costs(const Timeline& measured, const CostTable& profile);

}  // namespace penstock
