#include "seeds.h"

#include <algorithm>
#include <utility>

#include "request.h"

namespace penstock {
namespace {

bool holds_parts(const Pipeline& pipeline, std::size_t parts) {
  std::vector<bool> held(parts, false);
  for (const Stage& stage : pipeline.stages) {
    if (static_cast<std::size_t>(stage.part) >= parts) return false;
    held[static_cast<std::size_t>(stage.part)] = true;
  }
  return std::find(held.begin(), held.end(), false) == held.end();
}

bool is_placed(const Pipeline& pipeline, const SearchOptions& options) {
  switch (options.placement) {
    case StagePlacement::Loop:
      return pipeline == loop_pipeline(options.actors, options.chunks, options.microbatches);
    case StagePlacement::V:
      return pipeline == v_pipeline(options.actors, options.chunks, options.microbatches);
    case StagePlacement::Any:
      break;
  }
  return true;
}

bool has_kind(const Schedule& schedule, OpKind kind) {
  return std::any_of(schedule.order.begin(), schedule.order.end(), [&](const auto& steps) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const Step& step) { return step.op.kind == kind; });
  });
}

bool overlaps(const Schedule& schedule) {
  return std::any_of(schedule.order.begin(), schedule.order.end(), [](const auto& steps) {
    return std::any_of(steps.begin(), steps.end(),
                       [](const Step& s) { return s.overlaps_previous; });
  });
}

bool is_allowed(const Schedule& schedule, const SearchOptions& options) {
  // Other work: gradients that stay in windows or are not made, weights of other steps.
  if (schedule.pipeline.learning != Learning{} || updates_inside(schedule)) return false;
  if (!options.split) return true;
  if (!*options.split) return !has_kind(schedule, OpKind::BackwardWeight);
  // Whole backwards can be split, but not inside a pair.
  return !overlaps(schedule) || !has_kind(schedule, OpKind::Backward);
}

}  // namespace

std::vector<Schedule> seeds(const CostTable& costs, const SearchOptions& options) {
  const Pipeline loop = loop_pipeline(options.actors, options.chunks, options.microbatches);
  const CostTable of_loop = costs_for(costs, options, loop);
  std::vector<Schedule> found;
  for (const Generator& generator : generators()) {
    try {
      Schedule schedule = generate(generator.name, {.actors = options.actors,
                                                    .chunks = options.chunks,
                                                    .microbatches = options.microbatches,
                                                    .costs = of_loop});
      if (schedule.pipeline.actors != options.actors) continue;
      if (!holds_parts(schedule.pipeline, of_loop.stages.size())) continue;
      if (!is_placed(schedule.pipeline, options) || !is_allowed(schedule, options)) continue;
      if (!missing_costs(costs_for(costs, options, schedule.pipeline), schedule).empty()) continue;
      found.push_back(std::move(schedule));
    } catch (const Error&) {
      // Its rule does not allow these sizes, and that is no fault of the search's input.
    }
  }
  return found;
}

}  // namespace penstock
