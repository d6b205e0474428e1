// What an experiment asks estimate() for, and what it cannot be executed for.
#include <fmt/format.h>

#include "penstock/error.h"
#include "penstock/experiment.h"

namespace penstock {

EstimateInput estimate_input(const Experiment& experiment) {
  StateBytes state = usual_state(experiment.precision);
  if (experiment.gradients) {
    state.gradients = static_cast<std::int32_t>(value_bytes(*experiment.gradients));
  }
  return {
      .model = &*experiment.model,
      .cluster = &*experiment.cluster,
      .parallel = experiment.parallel,
      .order = experiment.order,
      .sequences = experiment.batch.micro,
      .tokens = experiment.batch.sequence,
      .choice = {
          .precision = experiment.precision, .state = state, .recompute = experiment.recompute}};
}

Estimate estimate_costs(const Experiment& experiment, const Schedule& schedule,
                        const Split& split) {
  const EstimateInput input = estimate_input(experiment);
  std::vector<Problem> problems = check_estimate(input, experiment.file + ":/parallel");
  if (!problems.empty()) throw Error(std::move(problems));
  return estimate(input, schedule, split);
}

std::vector<Problem> check_executable(const Experiment& experiment) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string_view place, std::string what, std::string hint) {
    problems.push_back(
        {fmt::format("{}:/{}", experiment.file, place), std::move(what), std::move(hint)});
  };
  const Parallel& parallel = experiment.parallel;
  const std::pair<const char*, std::int32_t> degrees[] = {{"tensor", parallel.tensor},
                                                          {"data", parallel.data},
                                                          {"context", parallel.context},
                                                          {"expert", parallel.expert}};
  for (const auto& [key, degree] : degrees) {
    if (degree == 1) continue;
    refuse(fmt::format("parallel/{}", key),
           fmt::format("'{}' above 1 is simulated, but not executed by this version", key),
           "use 1, or leave it out");
  }
  if (parallel.sequence) {
    refuse("parallel/sequence", "sequence parallelism is simulated, but not executed",
           "leave it out");
  }
  if (parallel.zero > 0) {
    refuse("parallel/zero", "ZeRO is simulated, but not executed", "leave it out");
  }
  if (experiment.precision != Precision::Fp32) {
    refuse("precision",
           fmt::format("{} is simulated, but not executed", name(experiment.precision)), "fp32");
  }
  if (experiment.gradients.value_or(Precision::Fp32) != Precision::Fp32) {
    refuse("gradients",
           fmt::format("{} is simulated, but not executed", name(*experiment.gradients)), "fp32");
  }
  if (experiment.estimates_costs) {
    refuse("costs/source", "a run measures its costs itself", "leave 'costs' out");
  }
  return problems;
}

}  // namespace penstock
