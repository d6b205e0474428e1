// File: timeline_check.h. Whether the numbers of a Timeline fit together.
#pragma once

#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/timeline.h"

namespace penstock {

// Every way in which `timeline` breaks the promises of timeline.h: an index out of range, an op on
// another actor than its stage, an op that ran twice, spans out of order or overlapping, a transfer
// that arrives before it starts. Times of different actors are not compared: their clocks may
// differ. `where` names the file; places are pointers into its "penstock" object. At most `most`
// problems. Linear but for one sort of the ops.
std::vector<Problem> check_timeline(const Timeline& timeline, const std::string& where,
                                    std::size_t most);

}  // namespace penstock
