#include "run_plan.h"

#include <cstdint>
#include <thread>

#include <fmt/format.h>

#include "penstock/error.h"

namespace penstock {

RunPlan make_run_plan(const Prepared& prepared, const std::optional<CostTable>& costs) {
  const Experiment& experiment = prepared.experiment;
  const bool sleeps = experiment.train.device == DeviceKind::Sleep;
  if (!sleeps && !experiment.model) {
    throw Error(experiment.file, "'model' is missing: there is nothing to train",
                "name a config.json, or set \"device\": \"sleep\"");
  }
  const std::int64_t sequences = sequences_per_run(prepared);
  if (sequences > INT32_MAX) {
    throw Error(experiment.file + ":/batch/global",
                fmt::format("one run of the schedule takes {} sequences", sequences),
                fmt::format("at most {}", INT32_MAX));
  }
  Batch batch = experiment.batch;
  batch.global = static_cast<std::int32_t>(sequences);
  const bool selective = experiment.recompute == RecomputeChoice::Selective;
  return {.program = prepared.program,
          .model = sleeps ? std::nullopt : experiment.model,
          .split = prepared.split,
          .batch = batch,
          .train = experiment.train,
          .recompute = selective ? RecomputeChoice::Selective : RecomputeChoice::Full,
          .costs = costs.value_or(CostTable{})};
}

std::string shared_cores_note(const Executor& executor, const RunPlan& plan) {
  const int processes = executor.processes_here();
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());  // 0: unknown
  if (!plan.model || cores == 0 || processes <= cores) return {};
  return fmt::format("{} processes share {} cores: times, and what is predicted from them, vary",
                     processes, cores);
}

}  // namespace penstock
