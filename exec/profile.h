// File: profile.h. What ops and messages cost on this machine, with all actors running.
#pragma once

#include <span>
#include <vector>

#include "penstock/execute.h"
#include "step_runner.h"
#include "transport/transport.h"

namespace penstock {

// Channels that time messages, one per directed pair of `channels`: kind BackwardInput.
std::vector<Channel> probe_channels(std::span<const Channel> channels);

// Collective: 3 unmeasured steps, then options.profile_steps measured ones, then messages between
// every pair of actors that exchange some. Nothing is learnt. A slice that a kind of op never works
// on costs 0. Per stage and kind:
// the median over steps of the mean over microbatches. Complete on every actor.
CostTable measure_profile(const RunPlan& plan, const RunOptions& options, StepRunner& runner);

}  // namespace penstock
