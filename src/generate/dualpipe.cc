#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dual_order.h"
#include "members.h"
#include "option.h"
#include "routes.h"

namespace penstock {
namespace {

void check_sizes(const GenerateOptions& options, std::vector<Problem>& problems) {
  check_chunks("dualpipe", options, {2}, problems);
  if (options.actors % 2 != 0) {
    problems.push_back({"actors",
                        fmt::format("dualpipe feeds its actors from both ends and needs an even "
                                    "number, not {}",
                                    options.actors),
                        multiples_near(options.actors, 2, 2) + " actors"});
  }
  const std::int32_t least = 2 * options.actors;
  if (options.microbatches % 2 != 0 || options.microbatches < least) {
    problems.push_back(
        {"microbatches",
         fmt::format("dualpipe sends half of the microbatches each way and needs an even number of "
                     "at least two per actor, not {} on {} actors",
                     options.microbatches, options.actors),
         multiples_near(options.microbatches, 2, least) + " microbatches"});
  }
}

// Part q sits on actor q for one half of the microbatches, on actor p-1-q for the other.
Pipeline both_ways(const GenerateOptions& options) {
  Pipeline pipeline{.actors = options.actors};
  const std::int32_t last = options.actors - 1;
  add_route(pipeline, options.actors, [](std::int32_t part) { return part; });
  add_route(pipeline, options.actors, [=](std::int32_t part) { return last - part; });
  const std::int32_t half = options.microbatches / 2;
  for (std::int32_t i = 0; i < options.microbatches; ++i) {
    pipeline.microbatches.push_back({.route = i / half});
  }
  return pipeline;
}

}  // namespace

Schedule dualpipe(const GenerateOptions& options) {
  std::vector<Problem> problems;
  check_sizes(options, problems);
  const bool fused = switch_option(options, "fused", true, problems);
  throw_if_any(std::move(problems));
  Schedule schedule{.name = "dualpipe", .pipeline = both_ways(options), .order = {}};
  const std::int32_t actors = options.actors;
  const std::int32_t half = options.microbatches / 2;
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    const std::int32_t mirrored = actors - 1 - actor;
    const DualSide down{.stage = actor, .first_microbatch = 0};
    const DualSide up{.stage = actors + mirrored, .first_microbatch = half};
    const bool enters_down = actor < mirrored;
    schedule.order.push_back(dual_order({.actors = actors / 2,
                                         .actor = enters_down ? actor : mirrored,
                                         .microbatches = half,
                                         .near = enters_down ? down : up,
                                         .far = enters_down ? up : down,
                                         .fused = fused}));
  }
  return schedule;
}

}  // namespace penstock
