// File: page_data.h. What the report page draws, as the JSON that is embedded in it.
#pragma once

#include <string>

#include "penstock/report.h"

namespace penstock {

// Above this many ops over all timelines the page gets, for each timeline, the share of busy time
// per actor and stretch of time instead of its ops: a browser stays quick, and Perfetto draws the
// trace file itself.
inline constexpr std::size_t kMostDrawnOps = 20'000;

// One JSON object: title, facts, losses, timelines and, given two of the same schedule to compare,
// "comparison". Times are integer nanoseconds. Holds no '<', so nothing in it can end the script
// element around it.
std::string page_data(const HtmlReport& report);

}  // namespace penstock
