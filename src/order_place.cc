#include "order_place.h"

#include <algorithm>

#include <fmt/format.h>

namespace penstock {

std::int32_t order_entry(const std::vector<Step>& order, std::int32_t position) {
  const auto end = order.begin() + position + 1;
  const auto entries =
      std::count_if(order.begin(), end, [](const Step& step) { return !step.overlaps_previous; });
  return static_cast<std::int32_t>(std::max<std::ptrdiff_t>(entries - 1, 0));
}

std::string place(const std::string& source, const std::string& pointer) {
  return source.empty() ? pointer : fmt::format("{}:{}", source, pointer);
}

std::string order_place(const std::string& source, const Schedule& schedule, std::int32_t actor,
                        std::int32_t position) {
  const std::vector<Step>& order = schedule.order[static_cast<std::size_t>(actor)];
  return place(source, fmt::format("/order/{}/{}", actor, order_entry(order, position)));
}

}  // namespace penstock
