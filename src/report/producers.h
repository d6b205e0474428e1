// File: producers.h. Which span sent each transfer.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/timeline.h"

namespace penstock {

// producers(t)[k] is the index of the span that ran transfer k's op on its sending actor, or -1
// (an imported timeline may not hold it). O((spans + transfers) log spans).
std::vector<std::int32_t> producers(const Timeline& timeline);

}  // namespace penstock
