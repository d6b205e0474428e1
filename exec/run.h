// File: run.h. A whole run, as one actor sees it: start-up, profile, steps, results.
#pragma once

#include "device/device.h"
#include "penstock/execute.h"
#include "transport/transport.h"

namespace penstock {

// Collective: every actor calls it with the same plan, its own device and transport. Order: the
// plan is checked, its hash compared among actors, every pool allocated and every channel warmed
// up; only then does the first step run. The result is complete on actor 0 and empty on the others
// (`root` false). A failure on any actor ends the run on all with the same RunError.
RunResult run_actor(const RunPlan& plan, const RunOptions& options, Device& device,
                    Transport& transport);

}  // namespace penstock
