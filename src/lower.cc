#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "channels.h"
#include "deadlock_ring.h"
#include "linear_order.h"
#include "penstock/depend.h"
#include "penstock/program.h"
#include "rendezvous.h"

namespace penstock {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Writes a program's computes, messages and actions along the linear order.
class Lowering {
 public:
  Lowering(const Dependencies& dependencies, MessagePlacement placement, Program& program)
      : dependencies_(dependencies),
        placement_(placement),
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

  // A pair's inputs are received before it, and its results leave when both are done.
  void take(std::int32_t actor, std::span<const Step> steps) {
    std::vector<Action>& actions = program_.actions[index(actor)];
    auto number = static_cast<std::int32_t>(program_.computes.size());
    for (const Step& step : steps) {
      const std::int32_t awaits = message_for(step.op);
      if (awaits >= 0) {
        program_.messages[index(awaits)].consumer =
            static_cast<std::int32_t>(program_.computes.size());
        if (placement_ == MessagePlacement::Paired)
          actions.push_back({ActionKind::Receive, awaits});
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
    if (placement_ == MessagePlacement::Linear) {
      program_.actions[index(to)].push_back({ActionKind::Receive, message});
    }
  }

  const Dependencies& dependencies_;
  const MessagePlacement placement_;
  Program& program_;
  const std::vector<Stage>& stages_;
  const Channels channels_;
  std::vector<std::int32_t> sent_;        // by channel
  std::vector<std::int32_t> message_of_;  // by result; -1: stays on its actor
};

// The groups asked for, then the mirrored copies of each part.
std::vector<std::vector<std::int32_t>> shared_groups(const Pipeline& pipeline,
                                                     const LowerOptions& options) {
  std::vector<std::vector<std::int32_t>> groups = options.shared;
  std::map<std::int32_t, std::vector<std::int32_t>> copies;
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    copies[pipeline.stages[stage].part].push_back(static_cast<std::int32_t>(stage));
  }
  for (auto& [part, stages] : copies) {
    if (stages.size() > 1) groups.push_back(std::move(stages));
  }
  return groups;
}

// Every actor's list ends in the same global order, so that collectives meet.
void write_step_end(Program& program) {
  const std::vector<Stage>& stages = program.schedule.pipeline.stages;
  for (std::size_t group = 0; group < program.shared.size(); ++group) {
    std::vector<std::int32_t> actors;
    for (const std::int32_t stage : program.shared[group]) {
      actors.push_back(stages[index(stage)].actor);
    }
    std::sort(actors.begin(), actors.end());
    actors.erase(std::unique(actors.begin(), actors.end()), actors.end());
    for (const std::int32_t actor : actors) {
      program.actions[index(actor)].push_back(
          {ActionKind::ReduceGradients, static_cast<std::int32_t>(group)});
    }
  }
  for (std::vector<Action>& actions : program.actions) {
    actions.push_back({ActionKind::GlobalNorm, 0});
  }
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    program.actions[index(stages[stage].actor)].push_back(
        {ActionKind::Update, static_cast<std::int32_t>(stage)});
  }
}

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
  Lowering(dependencies, options.placement, program).write(order);
  if (options.placement == MessagePlacement::Paired && !meets(program, Rendezvous::Grouped)) {
    program.computes.clear();
    program.messages.clear();
    program.actions.clear();
    Lowering(dependencies, MessagePlacement::Linear, program).write(order);
  }
  program.shared = shared_groups(program.schedule.pipeline, options);
  if (options.step_end) write_step_end(program);
  return program;
}

}  // namespace penstock
