#include <fmt/format.h>

#include "members.h"
#include "option.h"
#include "order.h"
#include "slices.h"

namespace penstock {
namespace {

// Microbatches that pass a chunk before the next one starts: as few as have a slice for every
// actor. With one chunk there is nothing to group.
std::int32_t group_of(const GenerateOptions& options, std::int32_t slices) {
  const std::int32_t group = (options.actors + slices - 1) / slices;
  if (options.chunks == 1 || options.microbatches % group == 0) return group;
  throw Error(
      "microbatches",
      fmt::format("seq1f1b with {} chunks takes microbatches in groups of {}, which {} are "
                  "not",
                  options.chunks, group, options.microbatches),
      fmt::format("{} microbatches would do", multiples_near(options.microbatches, group, group)));
}

}  // namespace

// 1F1B over (microbatch, slice): slices ascend in the forward and descend in the backward. A
// microbatch's first backward needs its last slice's forward, hence slices - 1 more forwards first.
Schedule seq1f1b(const GenerateOptions& options) {
  const std::int32_t actors = options.actors;
  const std::int32_t chunks = options.chunks;
  const std::int32_t slices = slice_count(options);
  const std::int32_t group = group_of(options, slices) * slices;
  Schedule schedule{.name = "seq1f1b",
                    .pipeline = loop_pipeline(actors, chunks, options.microbatches),
                    .order = {}};
  set_slices(schedule.pipeline, options);
  const std::int32_t count = options.microbatches * slices;  // per chunk
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    // With one chunk a group is everything, and hops need no second way round.
    const std::int32_t hops = (chunks == 1 ? 1 : 2) * (actors - 1 - actor);
    const std::int32_t size = chunks == 1 ? count : group;
    const auto unit = [=](std::int32_t i) { return i / (size * chunks) * size + i % size; };
    const auto chunk = [=](std::int32_t i) { return i / size % chunks; };
    schedule.order.push_back(warm_up_and_alternate(
        count * chunks, hops + (chunks - 1) * group + slices - 1,
        [=](std::int32_t i) {
          return Op{OpKind::Forward, chunk(i) * actors + actor, unit(i) / slices, unit(i) % slices};
        },
        [=](std::int32_t i) {
          return Op{OpKind::Backward, (chunks - 1 - chunk(i)) * actors + actor, unit(i) / slices,
                    slices - 1 - unit(i) % slices};
        }));
  }
  return schedule;
}

}  // namespace penstock
