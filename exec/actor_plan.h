// File: actor_plan.h. One actor's action list with everything worked out beforehand: which buffer
// each op reads and writes, and when it is free again. So the gap between two ops is short.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/program.h"
#include "transport/transport.h"

namespace penstock {

// Where a tensor lies. Message: index into Program::messages (an input in its receive buffer, an
// output in a send buffer). Local: index into ActorPlan::local_floats, a hand-over between two
// stages of one actor.
enum class Place : std::uint8_t { None, Message, Local };

struct Operand {
  Place place = Place::None;
  std::int32_t index = -1;
  bool operator==(const Operand&) const = default;
};

struct Task {
  ActionKind kind = ActionKind::Compute;
  std::int32_t index = 0;  // the action's: a compute, a message, a group or a stage
  std::int32_t compute_task =
      -1;  // Send: the op right before it, if that or its pair made the tensor and leaves at once
  Op op;   // Compute
  bool overlaps_previous = false;  // Compute: of a pair, which starts when all its inputs are there
  Operand input;
  Operand output;
  std::array<Operand, 2> released;  // inputs that nobody needs after this task
};

struct ActorPlan {
  std::vector<Task> tasks;                 // as Program::actions[actor]
  std::vector<std::int64_t> local_floats;  // size of each hand-over buffer
  std::int64_t send_floats = 0;            // size of a send buffer
  std::int32_t send_buffers = 0;           // unfinished sends at once, by the linear order
};

// What the executor needs to know of a message beside the Program. Numbers go on over steps: step t
// adds t * per_step.
struct MessagePlan {
  std::int64_t floats = 0;
  std::int32_t per_step = 0;     // messages of its channel in one step
  std::int32_t speculative = 0;  // of those, sent before the verdict: the first ones
};

// Floats of what the op gives to another stage: an activation of F, gradients of B and I.
using BoundaryFloats = std::function<std::int64_t(const Op&)>;

std::vector<MessagePlan> plan_messages(const Program& program,
                                       const BoundaryFloats& boundary_floats);

ActorPlan plan_actor(const Program& program, std::int32_t actor,
                     const BoundaryFloats& boundary_floats);

// Every channel of the program with the peak of its pool: a receive buffer is taken at the Receive
// action and given back when the op's last reader has run (an activation's is its B or W).
std::vector<Channel> plan_channels(const Program& program, std::span<const ActorPlan> plans,
                                   std::span<const MessagePlan> messages);

// Every action of every actor in words.
ActionNames action_names(const Program& program);

// Whether any stage learns: a program of forwards alone is inference and has no step end.
bool learns(const Program& program);

// Whether all actors hear of the gradients' norm. Where a stage updates without the others, nobody
// knows it.
bool exchanges_norms(const Program& program);

// What the executor cannot run: learning without a step end. Empty: executable.
std::vector<Problem> executable_problems(const Program& program);

}  // namespace penstock
