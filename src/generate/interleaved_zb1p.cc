#include "interleave.h"
#include "members.h"
#include "order.h"

namespace penstock {

// The interleaved order of zb_h1: half the warm-up that interleaved_1f1b adds per actor, and weight
// gradients that wait so that every actor holds as much as the first.
Schedule interleaved_zb1p(const GenerateOptions& options) {
  const std::int32_t actors = options.actors;
  const std::int32_t chunks = options.chunks;
  const std::int32_t microbatches = options.microbatches;
  const Interleave turns{actors, chunks, microbatches, torch_group("interleaved_zb1p", options)};
  Schedule schedule{.name = "interleaved_zb1p",
                    .pipeline = loop_pipeline(actors, chunks, microbatches),
                    .order = {}};
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    const std::int32_t warmup = (actors - 1 - actor) + (chunks - 1) * turns.group;
    schedule.order.push_back(warm_up_and_split(
        chunks * microbatches, warmup, actor,
        [&](std::int32_t i) { return turns.forward(actor, i); },
        [&](std::int32_t i) { return turns.backward(OpKind::BackwardInput, actor, i); }));
  }
  return schedule;
}

}  // namespace penstock
