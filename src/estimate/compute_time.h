// File: compute_time.h. How long one device computes: products, attention, memory-bound work.
#pragma once

#include <cstdint>

#include "penstock/estimate.h"

namespace penstock {

// What everything but the matrices of layers is calculated in.
Arithmetic arithmetic_elsewhere(Precision precision);

// All in nanoseconds.
class ComputeTime {
 public:
  explicit ComputeTime(const EstimateInput& input) : input_(input) {}

  // A product of weights. REQUIRES: not of attention.
  double product(const MatrixProduct& product) const;
  double attention(double flops) const;
  double memory(double bytes) const;
  double launches(double kernels) const;

 private:
  double peak(Arithmetic arithmetic) const;

  const EstimateInput& input_;
};

}  // namespace penstock
