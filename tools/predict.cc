#include "predict.h"

#include "penstock/error.h"

namespace penstock {
namespace {

// The stage whose part holds the model's block `block`, or -1. Parts are in stage order on the one
// route that an executable schedule has.
std::int32_t stage_with_block(const Split& split, const Pipeline& pipeline, std::int32_t block) {
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    const auto part = static_cast<std::size_t>(pipeline.stages[stage].part);
    if (split.first[part] <= block && block < split.first[part + 1]) {
      return static_cast<std::int32_t>(stage);
    }
  }
  return -1;
}

// Tied embeddings: the stages with E and with L share one tensor, if they are two.
std::vector<std::vector<std::int32_t>> shared_stages(const Experiment& experiment,
                                                     const Split& split, const Pipeline& pipeline) {
  if (!experiment.model || !experiment.model->tied_embeddings) return {};
  const std::int32_t first = stage_with_block(split, pipeline, 0);
  const std::int32_t last = stage_with_block(split, pipeline, experiment.model->layers + 1);
  if (first == last) return {};
  return {{first, last}};
}

}  // namespace

Prepared prepare(Experiment experiment, MessagePlacement placement) {
  Prepared prepared;
  prepared.experiment = std::move(experiment);
  Schedule schedule = make_schedule(prepared.experiment);
  if (prepared.experiment.model) prepared.split = make_split(prepared.experiment, schedule);
  auto shared = shared_stages(prepared.experiment, prepared.split, schedule.pipeline);
  prepared.program =
      lower(std::move(schedule), {.placement = placement, .shared = std::move(shared)});
  return prepared;
}

std::optional<CostTable> given_costs(const Experiment& experiment, const Schedule& schedule) {
  std::optional<CostTable> costs;
  if (experiment.uniform_costs) {
    costs = uniform_costs(static_cast<std::int32_t>(schedule.pipeline.stages.size()),
                          *experiment.uniform_costs);
  } else {
    costs = experiment.cost_table;
  }
  if (!costs) return std::nullopt;
  std::vector<Problem> problems = missing_costs(*costs, schedule);
  for (Problem& problem : problems) problem.where = experiment.file + ":/costs";
  if (!problems.empty()) throw Error(std::move(problems));
  return costs;
}

std::int64_t tokens_per_step(const Experiment& experiment) {
  return std::int64_t{experiment.batch.global} * experiment.batch.sequence;
}

}  // namespace penstock
