#include <algorithm>
#include <cmath>
#include <numbers>

#include "step_end.h"

namespace penstock {

double learning_rate(const Optimizer& optimizer, std::int64_t step, std::int64_t steps) {
  const auto warmup = static_cast<std::int64_t>(optimizer.warmup_steps);
  if (step < warmup) {
    return optimizer.lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  }
  if (steps <= warmup) return optimizer.lr;
  const double done =
      std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(steps - warmup));
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return optimizer.min_lr + cosine * (optimizer.lr - optimizer.min_lr);
}

}  // namespace penstock
