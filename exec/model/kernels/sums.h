// File: sums.h. Sums in a fixed order that the compiler can still vectorise.
#pragma once

#include "model/kernels/clones.h"

namespace penstock {

// term(0) + .. + term(n - 1): sixteen running sums, folded in halves at the end. Without
// -ffast-math a single running sum would have to stay scalar.
template <class T, class Term>
PENSTOCK_INLINE T lane_sum(int n, Term term) {
  constexpr int kLanes = 16;
  T lanes[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += term(i);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// The largest of n >= 1 values; a NaN need not be found (it survives in the values themselves).
template <class T>
PENSTOCK_INLINE T lane_max(int n, const T* values) {
  constexpr int kLanes = 16;
  T lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = values[0];
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
    }
  }
  for (int lane = 0; i < n; ++i, ++lane)
    lanes[lane] = values[i] > lanes[lane] ? values[i] : lanes[lane];
  for (int lane = 1; lane < kLanes; ++lane)
    lanes[0] = lanes[lane] > lanes[0] ? lanes[lane] : lanes[0];
  return lanes[0];
}

}  // namespace penstock
