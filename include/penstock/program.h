// File: program.h. A schedule with every message and every step-end collective written out.
//
// Program is what the simulator and the executor both take. It is stored flat: `computes` holds
// all ops in one global linear order (inputs always before users), `messages` every transfer, and
// `actions[actor]` what that actor does, as indices into the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/schedule.h"
#include "penstock/synchronization.h"

namespace penstock {

// One op to run. At most one input of an op comes from another actor: the activation of the stage
// before (F) or the gradient of the stage after (B and I, or W where windows overlap). What it
// needs from its own actor is earlier in that actor's order by construction.
struct Compute {
  Op op;
  std::int32_t actor = 0;
  std::int32_t awaits = -1;  // index of the message it consumes, -1: none
  // Index of the compute, on another actor, that has to start before the result of this one leaves
  // and its actor goes on, because it needs a free place in a bounded queue; -1: none. It may come
  // later in the linear order, but comes before all that waits for this one: AwaitRoom.
  std::int32_t room = -1;
  bool overlaps_previous = false;
};

// One tensor from one actor to another: an activation (kind Forward) or a gradient (kind Backward).
// Messages are matched by (from, to, kind, number), never by arrival.
struct Message {
  std::int32_t producer = 0;  // index into computes
  std::int32_t consumer = 0;  // index into computes: the one that uses it
  std::int32_t from = 0;      // actors
  std::int32_t to = 0;
  OpKind kind = OpKind::Forward;  // Forward: an activation; Backward: a gradient
  std::int32_t number = 0;        // counts 0, 1, .. within (from, to, kind), in sending order
};

// Compute      index -> Program::computes
// Send         index -> Program::messages; asynchronous, after its producer
// Receive      index -> Program::messages; posted here, awaited by the consumer
// AwaitRoom    index -> Program::computes: that compute's `room` has to have started
// ReduceGradients index -> Program::shared: sum the gradients of tied or mirrored weights
// GlobalNorm   index unused (0): exchange squared norms, so that all clip alike
// Update       index = stage: the optimizer
//
// Under post-validation, instead of GlobalNorm; index unused (0):
// PartialNorm  the squared norms of the actor's own gradients
// NormReceive  the norms of all actors in front, from the one before (not on actor 0)
// NormSend     those and its own, to the next actor (not on the last)
// Verdict      in the next step's list: the last actor tells the others the whole norm, and each
//              verifies its update. A roll-back is no action of its own: it runs inside, if at all.
enum class ActionKind : std::uint8_t {
  Compute,
  Send,
  Receive,
  AwaitRoom,
  ReduceGradients,
  GlobalNorm,
  Update,
  PartialNorm,
  NormReceive,
  NormSend,
  Verdict
};

constexpr bool is_transfer(ActionKind kind) {
  return kind == ActionKind::Send || kind == ActionKind::Receive;
}

// Work that nobody waits in, as opposed to an exchange at the step's end or a verdict, in which the
// actor waits for others.
constexpr bool is_work(ActionKind kind) {
  return kind == ActionKind::Compute || kind == ActionKind::Update;
}

struct Action {
  ActionKind kind = ActionKind::Compute;
  std::int32_t index = 0;
  bool operator==(const Action&) const = default;
};

struct Program {
  Schedule schedule = {};
  std::vector<Compute> computes = {};                  // the global linear order
  std::vector<Message> messages = {};                  // in the order of their producers
  std::vector<std::vector<std::int32_t>> shared = {};  // groups of stages that share weights
  std::vector<std::vector<Action>> actions = {};       // actions[actor]
};

// "3B1, needs the gradient of 4B1 from actor 2", "send of the activation of 0F3 to actor 1"
std::string to_string(const Program& program, const Action& action);

// Where sends and receives stand in an actor's list. A Send is always right behind its producer (of
// a pair: behind the pair). By name: lowering.h; what can deadlock: deadlock.h.
enum class MessagePlacement : std::uint8_t {
  // The Receive at the same point of the global order as the Send. Cannot deadlock, even when each
  // transfer is a rendezvous.
  Linear,
  // As Naive: a run of neighbouring transfers is one batch, as in Megatron's paired send and
  // receive. Used where it cannot deadlock under rendezvous; lower() falls back to Linear where it
  // could.
  Paired,
  // Each Receive right before its consumer, but no later than the actor's next Send to where it
  // comes from, if that is a higher actor. torch's _defer_recv_ops.
  Deferred,
  // Each Receive right before its consumer.
  Naive,
};

struct LowerOptions {
  MessagePlacement placement = MessagePlacement::Linear;
  // Groups of stages whose gradients are summed after the last backward: tied embeddings. Mirrored
  // copies (equal Stage::part) are added by lower() itself.
  std::vector<std::vector<std::int32_t>> shared = {};
  // PostValidation writes PartialNorm, NormReceive, NormSend and Verdict instead of GlobalNorm, and
  // puts the speculative computes first. With one actor there is nobody to wait for: Flush.
  Synchronization synchronization = Synchronization::Flush;
  // Write ReduceGradients, GlobalNorm (under Backprop) and Update at the end of every actor's list;
  // nothing under ForwardOnly, or where updates stand inside the order.
  bool step_end = true;
};

// Writes out the transfers: one per (producer, consuming actor). Actors are walked round-robin,
// each taking its next step when its inputs are there, which gives the global linear order; an
// actor's list is cut from it. Linear time and memory, no graph. REQUIRES: check(schedule).empty();
// throws Error when the order cannot make progress, for `shared` stages that update inside the
// order, each at a time of its own, and where PostValidation does not apply: two routes, mirrored
// copies, updates inside the order, local learning, inference.
//   Program program = lower(generate("1f1b", {.actors = 4, .microbatches = 8}));
Program lower(Schedule schedule, const LowerOptions& options = {});

// How many computes, at the front of the linear order, run before the step's verdict: a wrong one
// has them run, and their results sent, once more. 0 without post-validation.
std::int32_t speculative_computes(const Program& program);
// Whether updates are verified in the next step.
bool has_verdict(const Program& program);
// Whether `actor` may have to undo an update, so that its device keeps a copy of the weights.
bool keeps_a_copy(const Program& program, std::int32_t actor);

// Equal for equal programs, on every machine: actors compare it before the first step.
std::uint64_t plan_hash(const Program& program);

}  // namespace penstock
