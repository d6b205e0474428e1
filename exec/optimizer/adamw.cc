#include "optimizer/adamw.h"

#include <cmath>

#include "model/kernels/clones.h"
#include "model/kernels/sums.h"

namespace penstock {

namespace {

struct Factors {
  float gradient_scale;
  float keep_first, keep_second;  // beta1, beta2
  float decay;                    // 1 - lr * weight decay
  float rate;                     // lr / (1 - beta1^t)
  float second_correction;        // 1 / sqrt(1 - beta2^t)
  float epsilon;
};

PENSTOCK_CLONES void adamw_values(std::size_t n, float* x, const float* gradient, float* m,
                                  float* v, Factors f) {
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradient[i] * f.gradient_scale;
    m[i] = f.keep_first * m[i] + (1.0f - f.keep_first) * g;
    v[i] = f.keep_second * v[i] + (1.0f - f.keep_second) * g * g;
    x[i] = x[i] * f.decay - f.rate * m[i] / (std::sqrt(v[i]) * f.second_correction + f.epsilon);
  }
}

}  // namespace

void adamw(const AdamwTensor& tensor, const Optimizer& optimizer, const AdamwStep& step) {
  const double t = static_cast<double>(step.step + 1);
  const double decay = tensor.decayed ? optimizer.weight_decay : 0;
  const Factors factors{
      .gradient_scale = static_cast<float>(step.gradient_scale),
      .keep_first = static_cast<float>(optimizer.beta1),
      .keep_second = static_cast<float>(optimizer.beta2),
      .decay = static_cast<float>(1 - step.learning_rate * decay),
      .rate = static_cast<float>(step.learning_rate / (1 - std::pow(optimizer.beta1, t))),
      .second_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(optimizer.beta2, t))),
      .epsilon = static_cast<float>(optimizer.epsilon)};
  adamw_values(tensor.values.size(), tensor.values.data(), tensor.gradients.data(),
               tensor.first_moment.data(), tensor.second_moment.data(), factors);
}

PENSTOCK_CLONES double square_sum(std::span<const float> values) {
  const float* value = values.data();
  // Pieces keep lane_sum's int index small enough for any tensor.
  constexpr std::size_t kPiece = 1 << 20;
  double sum = 0;
  for (std::size_t first = 0; first < values.size(); first += kPiece) {
    const std::size_t n = values.size() - first < kPiece ? values.size() - first : kPiece;
    const float* piece = value + first;
    sum += lane_sum<double>(static_cast<int>(n), [=](int i) {
      return static_cast<double>(piece[i]) * static_cast<double>(piece[i]);
    });
  }
  return sum;
}

}  // namespace penstock
