// File: adamw.h. AdamW (Loshchilov, Hutter: Decoupled Weight Decay Regularization, ICLR 2019).
#pragma once

#include <cstdint>
#include <span>

#include "penstock/experiment.h"

namespace penstock {

// One tensor: its values, gradients and both moments, of equal size.
struct AdamwTensor {
  std::span<float> values;
  std::span<const float> gradients;
  std::span<float> first_moment;
  std::span<float> second_moment;
  bool decayed = false;
};

struct AdamwStep {
  std::int64_t step = 0;  // from 0
  double learning_rate = 0;
  double gradient_scale = 1;  // clipping: gradients are multiplied by it first
};

// Element-wise, so the same bits however the model is split. With g the scaled gradient, t =
// step+1:
//   m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
//   x = x (1 - lr decay) - lr m/(1-b1^t) / (sqrt(v/(1-b2^t)) + epsilon)
void adamw(const AdamwTensor& tensor, const Optimizer& optimizer, const AdamwStep& step);

// Sum of squares in double, in a fixed order.
double square_sum(std::span<const float> values);

}  // namespace penstock
