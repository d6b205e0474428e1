// File: weight_versions.h. How many versions of its weights an actor has to keep.
#pragma once

#include <cstdint>

#include "lanes.h"
#include "penstock/timeline.h"

namespace penstock {

// Over the stages of the actor whose spans are `lane`, the most versions that are needed at once: F
// reads the version that the updates in front of it have made, and its B (or I and W) use the same.
std::int32_t most_weight_versions(const Timeline& timeline, SpanRange lane);

}  // namespace penstock
