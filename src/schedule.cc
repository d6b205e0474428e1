#include "penstock/schedule.h"

#include <algorithm>
#include <set>

#include "linear_order.h"
#include "penstock/depend.h"

namespace penstock {

bool updates_inside(const Schedule& schedule) {
  return std::any_of(
      schedule.order.begin(), schedule.order.end(), [](const std::vector<Step>& steps) {
        return std::any_of(steps.begin(), steps.end(),
                           [](const Step& step) { return step.op.kind == OpKind::Update; });
      });
}

Schedule with_recompute(Schedule schedule) {
  for (std::vector<Step>& steps : schedule.order) {
    std::set<Op> there;
    for (const Step& step : steps) {
      if (step.op.kind == OpKind::Recompute) there.insert(step.op);
    }
    std::vector<Step> order;
    for (std::size_t i = 0; i < steps.size();) {
      const std::size_t end =
          i + static_cast<std::size_t>(steps_together(steps, static_cast<std::int32_t>(i)));
      for (std::size_t j = i; j < end; ++j) {
        Op op = steps[j].op;
        if (!gives_input_gradient(op.kind)) continue;
        op.kind = OpKind::Recompute;
        if (there.insert(op).second) order.push_back({op});
      }
      for (; i < end; ++i) order.push_back(steps[i]);
    }
    steps = std::move(order);
  }
  return schedule;
}

Schedule on_one_actor(const Schedule& schedule) {
  const Dependencies dependencies(schedule.pipeline);
  const LinearOrder order = linear_order(schedule, dependencies);
  Schedule one{.name = schedule.name, .pipeline = schedule.pipeline, .order = {{}}};
  one.pipeline.actors = 1;
  one.pipeline.learning.queue_capacity = 0;  // nobody waits for a queue that only it empties
  for (Stage& stage : one.pipeline.stages) stage.actor = 0;
  one.order[0].reserve(order.actors.size());
  std::vector<std::size_t> taken(schedule.order.size(), 0);
  for (const std::int32_t actor : order.actors) {
    if (actor < 0) continue;  // the end of a step
    const auto a = static_cast<std::size_t>(actor);
    one.order[0].push_back({schedule.order[a][taken[a]++].op});
  }
  return one;
}

}  // namespace penstock
