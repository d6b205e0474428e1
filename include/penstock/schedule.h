// File: schedule.h. Which actor runs which op, in which order: a value, never a control flow.
#pragma once

#include <string>
#include <vector>

#include "penstock/op.h"
#include "penstock/pipeline.h"

namespace penstock {

// One entry of an actor's order. `overlaps_previous` joins it to the entry before as a pair, as in
// DualPipe's forward-and-backward: both start together once all their inputs are there, and both
// results are published when the pair ends.
struct Step {
  Op op;
  bool overlaps_previous = false;
  bool operator==(const Step&) const = default;
};

// Idle time is not part of a schedule: only each actor's order counts.
struct Schedule {
  std::string name = {};
  Pipeline pipeline = {};
  std::vector<std::vector<Step>> order = {};  // order[actor]; as many as pipeline.actors
  bool operator==(const Schedule&) const = default;
};

// Whether the optimizer runs inside the order (U): asynchronous schedules, which unroll several
// steps, and local updates. If not, every stage updates once, behind the last op of all (a flush).
bool updates_inside(const Schedule& schedule);

// The same schedule with an R in front of every B or I (or the pair that holds it) that has none:
// forwards then keep only what computing them again takes. Inference is returned as it is.
Schedule with_recompute(Schedule schedule);

// The same work in the same order per stage, all on one actor: what tests compare an executed
// schedule with. Its order is the schedule's global linear order (program.h), so every
// stage accumulates its weight gradients in the order in which `schedule` does.
// REQUIRES: check(schedule).empty().
Schedule on_one_actor(const Schedule& schedule);

}  // namespace penstock
