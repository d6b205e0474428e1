// File: exponential.h. e^x that vectorises without -ffast-math.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "model/kernels/clones.h"

namespace penstock {

// e^x as 2^n e^r, n = round(x / ln 2), |r| <= ln 2 / 2, e^r by a polynomial of degree 6 (minimax
// coefficients of Cephes' expf). Relative error below 1e-7 (1.5 units in the last place) for
// -87 <= x <= 88; arguments outside are moved to the nearer end. NaN gives NaN.
PENSTOCK_INLINE float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // Adding 1.5 * 2^23 leaves round(x / ln 2) in the low bits: no conversion to integer needed.
  constexpr float kRound = 12582912.0f;
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  // ln 2 in two pieces, the first exact in few bits.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return p * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127u) << 23);
}

PENSTOCK_INLINE double exponential(double x) {
  return std::exp(x);
}

template <class T>
PENSTOCK_INLINE T logistic(T x) {
  return T(1) / (T(1) + exponential(-x));
}

}  // namespace penstock
