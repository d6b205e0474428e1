#include "penstock/experiment.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "penstock/check.h"
#include "penstock/error.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/index.h"
#include "problem_list.h"

namespace penstock {
namespace {

// What a searched schedule is made for: the experiment's costs, if it gives any.
std::optional<CostTable> costs_of(const Experiment& experiment) {
  const std::int64_t stages =
      std::int64_t{experiment.parallel.pipeline} * experiment.parallel.chunks;
  const bool makes_sense = stages >= 1 && stages <= kMostActors;
  if (experiment.uniform_costs && !makes_sense)
    return std::nullopt;  // the generator refuses such sizes
  return experiment.costs(static_cast<std::int32_t>(stages));
}

// Where a problem that a generator finds stands in the experiment.
void place(const Experiment& experiment, Problem& problem) {
  if (problem.where != "costs") {
    problem.where = experiment.file + ":/schedule";
    return;
  }
  problem.where = experiment.file + ":/costs";
  if (experiment.uniform_costs || experiment.cost_table) return;
  problem.hint =
      "give them: {\"file\": \"costs.json\"}, as `penstock profile` writes for another schedule "
      "with the same stages and split backwards";
}

Schedule generated(const Experiment& experiment) {
  try {
    return generate(experiment.schedule.name, {.actors = experiment.parallel.pipeline,
                                               .chunks = experiment.parallel.chunks,
                                               .microbatches = experiment.microbatches(),
                                               .slices = experiment.schedule.slices,
                                               .sequence = experiment.batch.sequence,
                                               .option = experiment.schedule.option,
                                               .costs = costs_of(experiment)});
  } catch (const Error& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) place(experiment, problem);
    throw Error(std::move(problems));
  }
}

// A schedule file brings its own sizes; the experiment's must agree.
void compare_size(const Experiment& experiment, std::string_view key, std::size_t wanted,
                  std::size_t found, std::string_view what, std::string hint,
                  std::vector<Problem>& problems) {
  if (wanted == found) return;
  problems.push_back({fmt::format("{}:/{}", experiment.file, key),
                      fmt::format("asks for {} {}, but the schedule in {} has {}", wanted, what,
                                  experiment.schedule.file, found),
                      std::move(hint)});
}

// "21 tokens, and 22 for the first 1": slices that add up to `tokens`.
std::string even_lengths(std::int32_t tokens, std::int32_t slices) {
  const std::int32_t shortest = tokens / slices;
  const std::int32_t longer = tokens % slices;
  if (shortest == 0) return fmt::format("at most {} slices", tokens);
  if (longer == 0) return fmt::format("{} tokens each, for example", shortest);
  return fmt::format("{} tokens, and {} for the first {}, for example", shortest, shortest + 1,
                     longer);
}

// Slices of one token each stand for slices of equal lengths, which only the experiment knows.
void fill_in_lengths(std::vector<std::int32_t>& slices, std::int32_t sequence) {
  const auto count = static_cast<std::int32_t>(slices.size());
  const bool are_known =
      std::any_of(slices.begin(), slices.end(), [](std::int32_t tokens) { return tokens != 1; });
  if (are_known || count > sequence) return;
  for (std::int32_t i = 0; i < count; ++i) {
    slices[index(i)] = sequence / count + (i < sequence % count ? 1 : 0);
  }
}

// The slices of a microbatch are the whole sequence.
void cut_sequences(const Experiment& experiment, Pipeline& pipeline,
                   std::vector<Problem>& problems) {
  const std::int32_t sequence = experiment.batch.sequence;
  if (sequence == 0) return;
  ProblemList misfits;
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    std::vector<std::int32_t>& slices = pipeline.microbatches[m].slice_tokens;
    fill_in_lengths(slices, sequence);
    const std::int64_t sum = std::accumulate(slices.begin(), slices.end(), std::int64_t{0});
    if (slices.empty() || sum == sequence) continue;
    misfits.add([&] {
      return Problem{
          fmt::format("{}:/microbatches/{}/slice_tokens", experiment.schedule.file, m),
          fmt::format("the slices of microbatch {} add up to {} tokens, batch.sequence is {}", m,
                      sum, sequence),
          even_lengths(sequence, pipeline.microbatches[m].slices())};
    });
  }
  for (Problem& problem : misfits.take()) problems.push_back(std::move(problem));
}

Schedule from_file(const Experiment& experiment) {
  const std::string& path = experiment.schedule.file;
  if (!std::filesystem::exists(path)) {
    throw Error(experiment.file + ":/schedule/file", fmt::format("there is no file {}", path),
                "paths are relative to the experiment's folder, in --set too; from the working "
                "directory: --set schedule.file=$PWD/NAME");
  }
  Schedule schedule = read_named_schedule(read_file(path), path);
  std::vector<Problem> problems = check(schedule, path);
  const Pipeline& pipeline = schedule.pipeline;
  compare_size(experiment, "parallel/pipeline", index(experiment.parallel.pipeline),
               index(pipeline.actors), "actors",
               fmt::format("set parallel.pipeline to {}", pipeline.actors), problems);
  if (experiment.parallel.chunks > 1) {
    compare_size(experiment, "parallel/chunks",
                 index(experiment.parallel.pipeline) * index(experiment.parallel.chunks),
                 pipeline.stages.size(), "stages", "leave parallel.chunks out: the file knows",
                 problems);
  }
  const std::int64_t found = std::ssize(pipeline.microbatches);
  compare_size(experiment, "batch/global", index(experiment.microbatches()),
               pipeline.microbatches.size(), "microbatches",
               fmt::format("set batch.global to {}: microbatches of batch.micro = {}",
                           found * experiment.batch.micro, experiment.batch.micro),
               problems);
  cut_sequences(experiment, schedule.pipeline, problems);
  if (!problems.empty()) throw Error(std::move(problems));
  return schedule;
}

}  // namespace

std::optional<CostTable> Experiment::costs(std::int32_t stages) const {
  if (!uniform_costs) return cost_table;
  CostTable costs = *uniform_costs;
  costs.stages.assign(index(stages), uniform_costs->stages.front());
  return costs;
}

std::string_view name(RecomputeChoice choice) {
  constexpr std::string_view kNames[] = {"none", "selective", "full"};
  return kNames[static_cast<std::size_t>(choice)];
}

Schedule make_schedule(const Experiment& experiment) {
  Schedule schedule =
      experiment.schedule.file.empty() ? generated(experiment) : from_file(experiment);
  if (experiment.recompute == RecomputeChoice::None) return schedule;
  return with_recompute(std::move(schedule));
}

Split make_split(const Experiment& experiment, const Schedule& schedule) {
  std::int32_t parts = 0;
  for (const Stage& stage : schedule.pipeline.stages) parts = std::max(parts, stage.part + 1);
  const std::string& layout = experiment.schedule.layout;
  if (layout.empty()) return even_split(*experiment.model, parts, experiment.file + ":/parallel");
  const std::string where = experiment.file + ":/schedule/layout";
  Split split = parse_layout(layout, *experiment.model, where);
  if (split.parts() == parts) return split;
  throw Error(where,
              fmt::format("the layout has {} stages, the schedule {}", split.parts(), parts));
}

}  // namespace penstock
