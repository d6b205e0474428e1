// File: measured.h. The marks of one step as a Timeline.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actor_plan.h"
#include "interpreter.h"
#include "penstock/execute.h"
#include "penstock/timeline.h"

namespace penstock {

// What the executor knows of a stage before the first step.
struct StageInfo {
  std::int64_t activation_bytes = 0;
  std::int64_t kept_bytes = 0;  // of those, from F to R
  std::int64_t left_bytes = 0;  // of those, from I to W
  std::int64_t weight_bytes = 0;
};

// `marks[actor][task]` in the host's time; the step began at `begin`. Waiting for the others is
// never part of a span: a collective's span starts when the last of its actors has entered it.
Timeline measured_timeline(const RunPlan& plan, std::span<const StageInfo> stages,
                           std::span<const MessagePlan> messages,
                           std::span<const std::vector<Mark>> marks, Nanoseconds begin);

// When the last actor entered the collective that is `action` of some actor's list.
Nanoseconds last_entry(const Program& program, std::span<const std::vector<Mark>> marks,
                       const Action& action);

}  // namespace penstock
