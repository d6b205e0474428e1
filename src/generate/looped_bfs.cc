#include <utility>
#include <vector>

#include "members.h"
#include "option.h"
#include "order.h"

namespace penstock {

// Breadth first: a chunk runs all its microbatches before the next one starts.
Schedule looped_bfs(const GenerateOptions& options) {
  std::vector<Problem> problems;
  const bool fsdp = switch_option(options, "fsdp", false, problems);
  throw_if_any(std::move(problems));
  const std::int32_t actors = options.actors;
  const std::int32_t last = options.microbatches - 1;
  const std::int32_t count = options.chunks * options.microbatches;
  Schedule schedule{.name = "looped_bfs",
                    .pipeline = loop_pipeline(actors, options.chunks, options.microbatches),
                    .order = {}};
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    const auto forward = [=](std::int32_t i) {
      return Op{OpKind::Forward, i / (last + 1) * actors + actor, i % (last + 1), 0};
    };
    // The exact mirror of the forward: chunks and microbatches descend (torch's ScheduleLoopedBFS).
    // With sharded weights a stage's microbatches ascend in both directions.
    const auto backward = [=](std::int32_t i) {
      Op op = forward(count - 1 - i);
      op.kind = OpKind::Backward;
      if (fsdp) op.microbatch = last - op.microbatch;
      return op;
    };
    schedule.order.push_back(warm_up_and_alternate(count, count, forward, backward));
  }
  return schedule;
}

}  // namespace penstock
