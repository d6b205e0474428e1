#include "members.h"

namespace penstock {

// As many microbatches as there are actors pass chunk 0, then chunk 1, .., before the next ones
// start: nobody waits for a chunk to come round.
Schedule forward_only(const GenerateOptions& options) {
  const std::int32_t actors = options.actors;
  const std::int32_t microbatches = options.microbatches;
  Schedule schedule{.name = "forward_only",
                    .pipeline = loop_pipeline(actors, options.chunks, microbatches),
                    .order = {}};
  schedule.pipeline.learning.kind = LearningKind::ForwardOnly;
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    std::vector<Step>& order = schedule.order.emplace_back();
    for (std::int32_t first = 0; first < microbatches; first += actors) {
      const std::int32_t end = std::min(first + actors, microbatches);
      for (std::int32_t chunk = 0; chunk < options.chunks; ++chunk) {
        for (std::int32_t i = first; i < end; ++i) {
          order.push_back({{OpKind::Forward, chunk * actors + actor, i, 0}});
        }
      }
    }
  }
  return schedule;
}

}  // namespace penstock
