#include "penstock/schedule.h"

#include "linear_order.h"
#include "penstock/depend.h"

namespace penstock {

Schedule on_one_actor(const Schedule& schedule) {
  const Dependencies dependencies(schedule.pipeline);
  const LinearOrder order = linear_order(schedule, dependencies);
  Schedule one{.name = schedule.name, .pipeline = schedule.pipeline, .order = {{}}};
  one.pipeline.actors = 1;
  for (Stage& stage : one.pipeline.stages) stage.actor = 0;
  one.order[0].reserve(order.actors.size());
  std::vector<std::size_t> taken(schedule.order.size(), 0);
  for (const std::int32_t actor : order.actors) {
    const auto a = static_cast<std::size_t>(actor);
    one.order[0].push_back({schedule.order[a][taken[a]++].op});
  }
  return one;
}

}  // namespace penstock
