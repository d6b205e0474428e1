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

bool learn_together(const Learning& learning, std::int32_t length, std::int32_t first,
                    std::int32_t last) {
  if (learning.kind == LearningKind::Backprop) return true;
  if (learning.kind == LearningKind::ForwardOnly) return false;
  // Of the windows that hold `first`, the last one reaches furthest.
  const std::int32_t beyond = std::max(0, length - learning.window);  // where none can start behind
  const std::int32_t last_window = beyond / learning.stride + (beyond % learning.stride != 0);
  const std::int32_t window = std::min(first / learning.stride, last_window);
  return last - window * learning.stride < learning.window;
}

}  // namespace penstock
