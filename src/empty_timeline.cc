#include "penstock/empty_timeline.h"

namespace penstock {

Timeline empty_timeline(const Schedule& schedule, TimelineSource source) {
  const Pipeline& pipeline = schedule.pipeline;
  Timeline timeline{.name = schedule.name,
                    .source = source,
                    .actors = pipeline.actors,
                    .microbatches = static_cast<std::int32_t>(pipeline.microbatches.size())};
  const std::vector<std::int32_t> route_of = route_of_stages(pipeline);
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const auto& [actor, part] = pipeline.stages[i];
    timeline.stages.push_back({.actor = actor, .part = part, .route = route_of[i]});
  }
  if (!is_sliced(pipeline)) return timeline;
  for (const Microbatch& microbatch : pipeline.microbatches) {
    timeline.slices.push_back(microbatch.slices());
  }
  return timeline;
}

}  // namespace penstock
