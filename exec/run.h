// File: run.h. A whole run, as one actor sees it: start-up, profile, steps, results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "device/device.h"
#include "penstock/execute.h"
#include "transport/transport.h"

namespace penstock {

// Collective: every actor calls it with the same plan, its own device and transport. Order: the
// plan is checked, its hash compared among actors, every pool allocated and every channel warmed
// up; only then does the first step run. The result is complete on actor 0 and empty on the others
// (`root` false). A failure on any actor ends the run on all with the same Error or RunError.
//
// `make_device` is called once; what it throws ends the run on all actors, too.
using MakeDevice = std::function<std::unique_ptr<Device>(const RunPlan&, std::int32_t actor)>;
RunResult run_actor(const RunPlan& plan, const RunOptions& options, const MakeDevice& make_device,
                    Transport& transport);

// The device that the plan asks for.
std::unique_ptr<Device> make_device(const RunPlan& plan, std::int32_t actor);

}  // namespace penstock
