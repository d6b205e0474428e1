#include "run_plan.h"

#include "penstock/error.h"

namespace penstock {

RunPlan make_run_plan(const Prepared& prepared, const std::optional<CostTable>& costs) {
  const Experiment& experiment = prepared.experiment;
  const bool sleeps = experiment.train.device == DeviceKind::Sleep;
  if (!sleeps && !experiment.model) {
    throw Error(experiment.file, "'model' is missing: there is nothing to train",
                "name a config.json, or set \"device\": \"sleep\"");
  }
  return {.program = prepared.program,
          .model = sleeps ? std::nullopt : experiment.model,
          .split = prepared.split,
          .batch = experiment.batch,
          .train = experiment.train,
          .costs = costs.value_or(CostTable{})};
}

}  // namespace penstock
