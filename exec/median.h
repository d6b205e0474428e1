// File: median.h. The middle of what was measured.
#pragma once

#include <algorithm>
#include <vector>

#include "penstock/costs.h"

namespace penstock {

// Of an even number, the longer of the two in the middle. REQUIRES: !values.empty().
inline Nanoseconds median(std::vector<Nanoseconds> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace penstock
