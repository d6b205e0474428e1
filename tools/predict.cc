#include "predict.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "penstock/error.h"
#include "penstock/index.h"
#include "search_input.h"

namespace penstock {
namespace {

// The number of the part that holds the model's block `block`. Along a route it is the stage's
// place, too.
std::size_t part_with_block(const Split& split, std::int32_t block) {
  const auto behind = std::upper_bound(split.first.begin(), split.first.end(), block);
  return static_cast<std::size_t>(behind - split.first.begin()) - 1;
}

// Tied embeddings: on each route the stages with E and with L share one tensor, if they are two.
std::vector<std::vector<std::int32_t>> shared_stages(const Experiment& experiment,
                                                     const Split& split, const Pipeline& pipeline) {
  if (!experiment.model || !experiment.model->tied_embeddings) return {};
  const std::size_t first = part_with_block(split, 0);
  const std::size_t last = part_with_block(split, experiment.model->layers + 1);
  if (first == last) return {};
  std::vector<std::vector<std::int32_t>> groups;
  for (const Route& route : pipeline.routes) groups.push_back({route[first], route[last]});
  return groups;
}

// Replicas add up the gradients of every stage: one that shares its weights with no other stage
// does so by itself.
void add_replicated(const Schedule& schedule, std::vector<std::vector<std::int32_t>>& groups) {
  if (updates_inside(schedule)) return;
  const std::vector<Stage>& stages = schedule.pipeline.stages;
  std::vector<bool> has_group(stages.size(), false);
  for (const std::vector<std::int32_t>& group : groups) {
    for (const std::int32_t stage : group) has_group[index(stage)] = true;
  }
  std::map<std::int32_t, std::int32_t> copies;  // of a part
  for (const Stage& stage : stages) ++copies[stage.part];
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    if (has_group[stage] || copies[stages[stage].part] > 1) continue;
    groups.push_back({static_cast<std::int32_t>(stage)});
  }
}

// A search's order is made once, for costs that are known, and not anew by every run.
Schedule schedule_of(const Experiment& experiment) {
  if (experiment.schedule.name != kSearched) return make_schedule(experiment);
  throw Error(
      experiment.file + ":/schedule/name",
      fmt::format("{} is no rule that a run could follow: its order is made for given costs",
                  kSearched),
      fmt::format("make it once: penstock generate {} --actors {} --chunks {} "
                  "--microbatches {} --costs-file costs.json -o best.json; then "
                  "\"schedule\": {{\"file\": \"best.json\"}}",
                  kSearched, experiment.parallel.pipeline, experiment.parallel.chunks,
                  experiment.microbatches()));
}

}  // namespace

Prepared prepare(Experiment experiment, MessagePlacement placement) {
  Prepared prepared;
  prepared.experiment = std::move(experiment);
  Schedule schedule = schedule_of(prepared.experiment);
  if (prepared.experiment.model) prepared.split = make_split(prepared.experiment, schedule);
  auto shared = shared_stages(prepared.experiment, prepared.split, schedule.pipeline);
  if (prepared.experiment.parallel.replicas() > 1) add_replicated(schedule, shared);
  prepared.program =
      lower(std::move(schedule),
            {.placement = placement,
             .shared = std::move(shared),
             .synchronization = prepared.experiment.train.optimizer.synchronization});
  return prepared;
}

std::optional<CostTable> given_costs(const Prepared& prepared) {
  const Experiment& experiment = prepared.experiment;
  const Schedule& schedule = prepared.program.schedule;
  if (experiment.estimates_costs) {
    return estimate_costs(experiment, schedule, prepared.split).costs;
  }
  std::optional<CostTable> costs =
      experiment.costs(static_cast<std::int32_t>(schedule.pipeline.stages.size()));
  if (!costs) return std::nullopt;
  costs = costs_of_copies(std::move(*costs), schedule.pipeline);
  std::vector<Problem> problems = missing_costs(*costs, schedule);
  for (Problem& problem : problems) problem.where = experiment.file + ":/costs";
  if (!problems.empty()) throw Error(std::move(problems));
  return costs;
}

Experiment read_executable(const std::string& path, const std::vector<std::string>& set) {
  Experiment experiment = read_experiment(path, set);
  std::vector<Problem> problems = check_executable(experiment);
  if (!problems.empty()) throw Error(std::move(problems));
  return experiment;
}

std::int64_t sequences_per_run(const Prepared& prepared) {
  const auto microbatches =
      static_cast<std::int64_t>(prepared.program.schedule.pipeline.microbatches.size());
  return prepared.experiment.batch.global / prepared.experiment.microbatches() * microbatches;
}

std::int64_t tokens_per_run(const Prepared& prepared) {
  return sequences_per_run(prepared) * prepared.experiment.batch.sequence;
}

}  // namespace penstock
