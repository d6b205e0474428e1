#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "channels.h"
#include "deadlock_ring.h"
#include "linear_order.h"
#include "lower/place.h"
#include "lower/post_validation.h"
#include "lower/step_end.h"
#include "penstock/depend.h"
#include "penstock/index.h"
#include "penstock/program.h"

namespace penstock {
namespace {

// Writes a program's computes, messages and actions along the linear order: the policy `linear`.
class Lowering {
 public:
  Lowering(const Dependencies& dependencies, Program& program)
      : dependencies_(dependencies),
        program_(program),
        stages_(program.schedule.pipeline.stages),
        channels_(channels_of(program.schedule.pipeline, dependencies)),
        sent_(index(channels_.count), 0),
        message_of_(index(dependencies.results()), -1),
        forward_(dependencies.has_queues() ? index(dependencies.units()) : 0, -1),
        batches_(program.schedule.order.size()) {}

  void write(const LinearOrder& order) {
    reserve(order);
    std::vector<std::int32_t> taken(program_.actions.size(), 0);
    for (std::size_t i = 0; i < order.actors.size();) {
      if (order.actors[i] < 0) {
        end(~order.actors[i++]);
        continue;
      }
      const std::int32_t actor = order.actors[i];
      const std::vector<Step>& steps = program_.schedule.order[index(actor)];
      const std::int32_t first = taken[index(actor)];
      const std::int32_t together = steps_together(steps, first);
      take(actor, {steps.data() + first, index(together)});
      taken[index(actor)] += together;
      i += index(together);
    }
  }

 private:
  // Computes [first, end): one op or a pair.
  struct Batch {
    std::int32_t first = 0;
    std::int32_t end = 0;
  };

  // A step has at most one receive and one send. What stays unused costs address space alone.
  void reserve(const LinearOrder& order) {
    program_.computes.reserve(order.actors.size());
    program_.messages.reserve(order.actors.size());
    program_.actions.resize(program_.schedule.order.size());
    for (std::size_t actor = 0; actor < program_.actions.size(); ++actor) {
      program_.actions[actor].reserve(3 * program_.schedule.order[actor].size() + 1);
    }
  }

  // A pair's results leave when both are done.
  void take(std::int32_t actor, std::span<const Step> steps) {
    std::vector<Action>& actions = program_.actions[index(actor)];
    auto number = static_cast<std::int32_t>(program_.computes.size());
    for (const Step& step : steps) {
      const std::int32_t awaits = message_for(step.op);
      if (awaits >= 0) {
        program_.messages[index(awaits)].consumer =
            static_cast<std::int32_t>(program_.computes.size());
      }
      program_.computes.push_back({.op = step.op,
                                   .actor = actor,
                                   .awaits = awaits,
                                   .overlaps_previous = step.overlaps_previous});
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      actions.push_back({ActionKind::Compute, number + static_cast<std::int32_t>(i)});
    }
    Batch& batch = batches_[index(actor)];
    batch = {number, number + static_cast<std::int32_t>(steps.size())};
    for (const Step& step : steps) make_message(step.op, number++, actor);
    if (find_room(batch)) send(batch);
  }

  // What the actor started has found room for its results.
  void end(std::int32_t actor) {
    const Batch& batch = batches_[index(actor)];
    find_room(batch);
    send(batch);
  }

  // Notes what the batch waits for in bounded queues, as far as another actor has to make room;
  // false when some of that has not started.
  bool find_room(const Batch& batch) {
    if (!dependencies_.has_queues()) return true;
    for (std::int32_t i = batch.first; i < batch.end; ++i) {
      const Op& op = program_.computes[index(i)].op;
      if (op.kind == OpKind::Forward) forward_[index(dependencies_.unit(op))] = i;
    }
    bool found = true;
    for (std::int32_t i = batch.first; i < batch.end; ++i) {
      Compute& compute = program_.computes[index(i)];
      const std::optional<Op> room = dependencies_.room_for(compute.op);
      if (!room) continue;
      const std::int32_t first = forward_[index(dependencies_.unit(*room))];
      found &= first >= 0;
      if (stages_[index(room->stage)].actor != compute.actor) compute.room = first;
    }
    return found;
  }

  // The message that brings an op its input: -1 when all its inputs are its actor's own.
  std::int32_t message_for(const Op& op) const {
    const std::int32_t stage = dependencies_.giver(op);
    if (stage < 0) return -1;
    const OpKind kind = op.kind == OpKind::Forward ? OpKind::Forward : OpKind::Backward;
    const Op input{kind, stage, op.microbatch, op.slice};
    return message_of_[index(dependencies_.result(input))];
  }

  void make_message(const Op& op, std::int32_t producer, std::int32_t actor) {
    const std::int32_t receiver = dependencies_.receiver(op);
    if (receiver < 0) return;
    const bool forward = op.kind == OpKind::Forward;
    const std::int32_t channel =
        (forward ? channels_.activation : channels_.gradient)[index(op.stage)];
    if (channel < 0) return;
    message_of_[index(dependencies_.result(op))] =
        static_cast<std::int32_t>(program_.messages.size());
    program_.messages.push_back({.producer = producer,
                                 .consumer = -1,
                                 .from = actor,
                                 .to = stages_[index(receiver)].actor,
                                 .kind = forward ? OpKind::Forward : OpKind::Backward,
                                 .number = sent_[index(channel)]++});
  }

  // The results leave when there is room for all.
  void send(const Batch& batch) {
    for (std::int32_t i = batch.first; i < batch.end && dependencies_.has_queues(); ++i) {
      const Compute& compute = program_.computes[index(i)];
      if (compute.room >= 0) {
        program_.actions[index(compute.actor)].push_back({ActionKind::AwaitRoom, i});
      }
    }
    for (std::int32_t i = batch.first; i < batch.end; ++i) {
      const Op& op = program_.computes[index(i)].op;
      if (dependencies_.receiver(op) < 0) continue;
      const std::int32_t number = message_of_[index(dependencies_.result(op))];
      if (number < 0) continue;
      const Message& message = program_.messages[index(number)];
      program_.actions[index(message.from)].push_back({ActionKind::Send, number});
      program_.actions[index(message.to)].push_back({ActionKind::Receive, number});
    }
  }

  const Dependencies& dependencies_;
  Program& program_;
  const std::vector<Stage>& stages_;
  const Channels channels_;
  std::vector<std::int32_t> sent_;        // by channel
  std::vector<std::int32_t> message_of_;  // by result; -1: stays on its actor
  std::vector<std::int32_t> forward_;     // with queues, by unit: its compute, -1: not started
  std::vector<Batch> batches_;            // by actor: what it took last
};

// Throws Error where updates cannot be verified later.
bool validates_later(const Schedule& schedule, const LowerOptions& options) {
  if (options.synchronization != Synchronization::PostValidation || !options.step_end) return false;
  std::vector<Problem> problems = post_validation_problems(schedule);
  if (!problems.empty()) throw Error(std::move(problems));
  return schedule.pipeline.actors > 1;
}

}  // namespace

Program lower(Schedule schedule, const LowerOptions& options) {
  Program program;
  program.schedule = std::move(schedule);
  const Dependencies dependencies(program.schedule.pipeline);
  LinearOrder order = linear_order(program.schedule, dependencies);
  if (!order.complete) {
    std::vector<Problem> problems = deadlock_rings(program.schedule, dependencies, order, {});
    if (problems.empty())
      problems.push_back({"/order", "an op waits for one that nobody runs", {}});
    throw Error(std::move(problems));
  }
  if (!options.shared.empty() && updates_inside(program.schedule)) {
    const std::vector<std::int32_t>& group = options.shared.front();
    throw Error(
        fmt::format("schedule '{}'", program.schedule.name),
        fmt::format("stages {} share weights (a tied embedding), but each updates at a time "
                    "of its own",
                    fmt::join(group, " and ")),
        "a flush is required: take a schedule that updates behind its last op, or a model whose "
        "embeddings are not tied (configs/models/tiny-llama.json)");
  }
  const bool validates = validates_later(program.schedule, options);
  std::int32_t speculative = 0;
  if (validates) speculative = move_speculative_first(order, program.schedule, dependencies);
  Lowering(dependencies, program).write(order);
  place_transfers(options.placement, program);
  if (validates) write_verdicts(program, speculative);
  program.shared = shared_groups(program.schedule.pipeline, options.shared);
  if (options.step_end) write_step_end(program);
  return program;
}

}  // namespace penstock
