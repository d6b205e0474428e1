// File: scenarios.h. Predictions in one line, for tests.
#pragma once

#include <algorithm>
#include <string>

#include "penstock/generate.h"
#include "penstock/metrics.h"
#include "penstock/program.h"
#include "penstock/simulate.h"

namespace penstock {

inline Program lowered(const Schedule& schedule,
                       MessagePlacement placement = MessagePlacement::Linear) {
  return lower(schedule, {.placement = placement});
}

inline std::int32_t stages_of(const Program& program) {
  return static_cast<std::int32_t>(program.schedule.pipeline.stages.size());
}

// simulated("1f1b", {.actors = 4, .microbatches = 8}, "F=1,B=2")
inline Timeline simulated(const std::string& name, const GenerateOptions& sizes,
                          const std::string& costs, const SimulateOptions& options = {}) {
  const MessagePlacement placement =
      options.p2p == P2p::Blocking ? MessagePlacement::Paired : MessagePlacement::Linear;
  const Program program = lowered(generate(name, sizes), placement);
  return simulate(program, parse_costs(costs, stages_of(program)), options);
}

// The most that an actor holds, in activations of a microbatch, when an input gradient leaves
// `share` of one.
inline double most_held(const Schedule& schedule, double share) {
  double most = 0;
  for (const std::vector<Step>& order : schedule.order) {
    double held = 0;
    for (const Step& step : order) {
      if (step.op.kind == OpKind::Forward) held += 1;
      if (step.op.kind == OpKind::BackwardInput) held -= 1 - share;
      if (step.op.kind == OpKind::BackwardWeight) held -= share;
      most = std::max(most, held);
    }
  }
  return most;
}

inline double makespan_ms(const Timeline& timeline) {
  return to_ms(measure(timeline).makespan);
}

}  // namespace penstock
