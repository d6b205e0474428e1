#include "members.h"
#include "order.h"
#include "slices.h"

namespace penstock {

Schedule terapipe(const GenerateOptions& options) {
  refuse_chunks("terapipe", options);
  Schedule schedule{.name = "terapipe",
                    .pipeline = loop_pipeline(options.actors, 1, options.microbatches),
                    .order = {}};
  set_slices(schedule.pipeline, options);
  const std::int32_t slices = slice_count(options);
  const std::int32_t count = options.microbatches * slices;
  for (std::int32_t actor = 0; actor < options.actors; ++actor) {
    schedule.order.push_back(warm_up_and_alternate(
        count, count,
        [=](std::int32_t i) {
          return Op{OpKind::Forward, actor, i / slices, i % slices};
        },
        [=](std::int32_t i) {
          return Op{OpKind::Backward, actor, i / slices, slices - 1 - i % slices};
        }));
  }
  return schedule;
}

}  // namespace penstock
