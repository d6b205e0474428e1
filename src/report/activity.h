// File: activity.h. How busy each actor was, stretch by stretch: a timeline too large to draw.
#pragma once

#include <string>
#include <vector>

#include "penstock/timeline.h"

namespace penstock {

// busy[actor][k]: per cent of the k-th of `bins` equal stretches of [0, until] in which the
// actor's compute lane ran an op. All 0 when until is 0. REQUIRES: bins >= 1.
std::vector<std::vector<int>> activity(const Timeline& timeline, Nanoseconds until,
                                       std::size_t bins);

// Appends "activity": at most some 200,000 numbers, however many actors there are.
void append_activity(std::string& out, const Timeline& timeline, Nanoseconds until);

}  // namespace penstock
