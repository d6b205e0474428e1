// File: slice_counts.h. Into how many token slices each microbatch is cut.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/pipeline.h"

namespace penstock {

// One entry per microbatch, as Timeline::slices holds them; empty when none is cut.
std::vector<std::int32_t> slice_counts(const Pipeline& pipeline);

}  // namespace penstock
