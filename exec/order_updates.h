// File: order_updates.h. The optimizer steps that stand inside a program's order.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/program.h"

namespace penstock {

// Each applies the gradients of its own microbatches: as if they were the whole batch.
class OrderUpdates {
 public:
  explicit OrderUpdates(const Program& program);

  // How many `stage` runs in a step.
  std::int32_t count(std::int32_t stage) const {
    return static_cast<std::int32_t>(scales_[static_cast<std::size_t>(stage)].size());
  }
  // The device's gradients are those of the mean loss over the step's tokens. Times this they are
  // those of the mean over the tokens that update `number` of `stage` applies.
  double gradient_scale(std::int32_t stage, std::int32_t number) const {
    return scales_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(number)];
  }

 private:
  std::vector<std::vector<double>> scales_;  // [stage][number]
};

}  // namespace penstock
