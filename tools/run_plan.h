// File: run_plan.h. From a prepared experiment to what the executor runs.
#pragma once

#include "penstock/execute.h"
#include "predict.h"

namespace penstock {

// `costs` are what the sleep device waits for; unused by others.
RunPlan make_run_plan(const Prepared& prepared, const std::optional<CostTable>& costs);

// What to say when the processes of a run that computes are more than this host's cores: they take
// turns, which makes every comparison with a prediction worse. Empty when each has its own.
std::string shared_cores_note(const Executor& executor, const RunPlan& plan);

}  // namespace penstock
