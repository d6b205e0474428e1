#include "penstock/learning.h"

#include <algorithm>

namespace penstock {

std::string_view name(LearningKind kind) {
  constexpr std::string_view kNames[] = {"backprop", "windows", "inference"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Combine combine) {
  constexpr std::string_view kNames[] = {"sum", "furthest"};
  return kNames[static_cast<std::size_t>(combine)];
}

std::string_view name(AuxHead head) {
  constexpr std::string_view kNames[] = {"linear", "mlp", "block"};
  return kNames[static_cast<std::size_t>(head)];
}

std::int32_t windows_with(const Learning& learning, std::int32_t length, std::int32_t first,
                          std::int32_t last) {
  if (learning.kind == LearningKind::Backprop) return 1;
  if (learning.kind == LearningKind::ForwardOnly) return 0;
  const auto up = [&](std::int32_t stages) {
    return stages / learning.stride + (stages % learning.stride != 0);
  };
  // Behind the last window none can start; of those that hold `first` the last reaches furthest.
  const std::int32_t last_window = up(std::max(0, length - learning.window));
  const std::int32_t latest = std::min(first / learning.stride, last_window);
  const std::int32_t earliest = up(std::max(0, last + 1 - learning.window));
  return std::max(0, latest - earliest + 1);
}

bool learn_together(const Learning& learning, std::int32_t length, std::int32_t first,
                    std::int32_t last) {
  return windows_with(learning, length, first, last) > 0;
}

}  // namespace penstock
