#include <span>
#include <utility>

#include "channels.h"
#include "deadlock_ring.h"
#include "linear_order.h"
#include "lower/place.h"
#include "lower/step_end.h"
#include "penstock/depend.h"
#include "penstock/program.h"

namespace penstock {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Writes a program's computes, messages and actions along the linear order: the policy `linear`.
class Lowering {
 public:
  Lowering(const Dependencies& dependencies, Program& program)
      : dependencies_(dependencies),
        program_(program),
        stages_(program.schedule.pipeline.stages),
        channels_(channels_of(program.schedule.pipeline)),
        sent_(index(channels_.count), 0),
        message_of_(index(dependencies.results()), -1) {}

  void write(const LinearOrder& order) {
    reserve(order);
    std::vector<std::int32_t> taken(program_.actions.size(), 0);
    for (std::size_t i = 0; i < order.actors.size();) {
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
      program_.computes.push_back({step.op, actor, awaits, step.overlaps_previous});
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      actions.push_back({ActionKind::Compute, number + static_cast<std::int32_t>(i)});
    }
    for (const Step& step : steps) send(step.op, number++, actor);
  }

  // The message that brings an op its input: -1 when all its inputs are its actor's own.
  std::int32_t message_for(const Op& op) const {
    const std::int32_t stage = dependencies_.giver(op);
    if (stage < 0) return -1;
    const Op input{op.kind, stage, op.microbatch, op.slice};
    return message_of_[index(dependencies_.result(input))];
  }

  void send(const Op& op, std::int32_t producer, std::int32_t actor) {
    if (op.kind == OpKind::BackwardWeight) return;
    const bool forward = op.kind == OpKind::Forward;
    const std::int32_t channel =
        (forward ? channels_.activation : channels_.gradient)[index(op.stage)];
    if (channel < 0) return;
    const std::int32_t to = stages_[index(dependencies_.receiver(op))].actor;
    const auto message = static_cast<std::int32_t>(program_.messages.size());
    program_.messages.push_back({.producer = producer,
                                 .consumer = -1,
                                 .from = actor,
                                 .to = to,
                                 .kind = forward ? OpKind::Forward : OpKind::Backward,
                                 .number = sent_[index(channel)]++});
    message_of_[index(dependencies_.result(op))] = message;
    program_.actions[index(actor)].push_back({ActionKind::Send, message});
    program_.actions[index(to)].push_back({ActionKind::Receive, message});
  }

  const Dependencies& dependencies_;
  Program& program_;
  const std::vector<Stage>& stages_;
  const Channels channels_;
  std::vector<std::int32_t> sent_;        // by channel
  std::vector<std::int32_t> message_of_;  // by result; -1: stays on its actor
};

}  // namespace

Program lower(Schedule schedule, const LowerOptions& options) {
  Program program;
  program.schedule = std::move(schedule);
  const Dependencies dependencies(program.schedule.pipeline);
  const LinearOrder order = linear_order(program.schedule, dependencies);
  if (!order.complete) {
    std::vector<Problem> problems = deadlock_rings(program.schedule, dependencies, order, {});
    if (problems.empty())
      problems.push_back({"/order", "an op waits for one that nobody runs", {}});
    throw Error(std::move(problems));
  }
  Lowering(dependencies, program).write(order);
  place_transfers(options.placement, program);
  program.shared = shared_groups(program.schedule.pipeline, options.shared);
  if (options.step_end) write_step_end(program);
  return program;
}

}  // namespace penstock
