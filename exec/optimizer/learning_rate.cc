#include "optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace penstock {

double learning_rate(const Optimizer& optimizer, std::int64_t step, std::int64_t steps) {
  const std::int64_t warmup = optimizer.warmup_steps;
  if (step < warmup) {
    return optimizer.lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  }
  const std::int64_t last = steps - 1 - warmup;
  if (last <= 0) return optimizer.lr;
  const double progress =
      std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(last));
  const double cosine = (1 + std::cos(std::numbers::pi * progress)) / 2;
  return optimizer.min_lr + (optimizer.lr - optimizer.min_lr) * cosine;
}

double clip_scale(double gradient_norm, double clip) {
  if (clip <= 0) return 1;
  return std::min(1.0, clip / (gradient_norm + 1e-6));
}

}  // namespace penstock
