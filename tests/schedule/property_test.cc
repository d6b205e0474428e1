// Properties of random schedules: made by generators, drawn at random, and broken at random.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../add_updates.h"
#include "../generate_near.h"
#include "facts.h"
#include "penstock/check.h"
#include "penstock/deadlock.h"
#include "penstock/depend.h"
#include "penstock/error.h"
#include "penstock/generate.h"
#include "penstock/lowering.h"
#include "penstock/program.h"

namespace penstock {
namespace {

std::int32_t number(std::int32_t first, std::int32_t last) {
  return *rc::gen::inRange(first, last + 1);
}

bool chance(std::int32_t in) {
  return number(0, in - 1) == 0;
}

template <typename T>
std::size_t any_of(const std::vector<T>& things) {
  return static_cast<std::size_t>(number(0, static_cast<std::int32_t>(things.size()) - 1));
}

Learning any_learning(std::int32_t parts) {
  Learning learning;
  if (chance(2)) return learning;
  learning.kind = kLearningKinds[number(0, 2)];
  if (learning.kind != LearningKind::Local) return learning;
  learning.window = number(1, parts);
  learning.stride = number(1, learning.window);
  return learning;
}

// One or two routes over the same parts, anywhere; uneven microbatches, some sliced.
Pipeline any_pipeline() {
  Pipeline pipeline{.actors = number(1, 4)};
  const std::int32_t parts = number(pipeline.actors, pipeline.actors + 3);
  const std::int32_t routes = number(1, 2);
  for (std::int32_t route = 0; route < routes; ++route) {
    pipeline.routes.emplace_back();
    for (std::int32_t part = 0; part < parts; ++part) {
      pipeline.routes.back().push_back(static_cast<std::int32_t>(pipeline.stages.size()));
      const bool spread = route == 0 && part < pipeline.actors;  // no actor without a stage
      pipeline.stages.push_back({spread ? part : number(0, pipeline.actors - 1), part});
    }
  }
  const std::int32_t microbatches = number(1, 5);
  for (std::int32_t m = 0; m < microbatches; ++m) {
    Microbatch microbatch{.route = number(0, routes - 1), .sequences = number(1, 3)};
    if (chance(3)) microbatch.slice_tokens.assign(static_cast<std::size_t>(number(1, 3)), 5);
    pipeline.microbatches.push_back(microbatch);
  }
  pipeline.learning = any_learning(parts);
  return pipeline;
}

std::vector<Op> all_ops(const Pipeline& pipeline) {
  std::vector<Op> ops;
  const bool recomputes = chance(3);
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    const Microbatch& microbatch = pipeline.microbatches[m];
    for (const std::int32_t stage : pipeline.routes[static_cast<std::size_t>(microbatch.route)]) {
      for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
        const Op forward{OpKind::Forward, stage, static_cast<std::int32_t>(m), slice};
        const auto add = [&](OpKind kind) {
          ops.push_back(forward);
          ops.back().kind = kind;
        };
        add(OpKind::Forward);
        if (pipeline.learning.kind == LearningKind::ForwardOnly) continue;
        if (recomputes) add(OpKind::Recompute);
        if (chance(2)) {
          add(OpKind::Backward);
        } else {
          add(OpKind::BackwardInput);
          add(OpKind::BackwardWeight);
        }
      }
    }
  }
  return ops;
}

bool overlaps(const Op& op) {
  return op.kind != OpKind::Recompute;
}

// A valid schedule: ops in any order that the dependencies allow, some in pairs.
Schedule any_schedule() {
  Schedule schedule{.name = "any", .pipeline = any_pipeline()};
  const Dependencies dependencies(schedule.pipeline);
  schedule.order.resize(static_cast<std::size_t>(schedule.pipeline.actors));
  std::vector<Op> left = all_ops(schedule.pipeline);
  std::vector<std::uint8_t> done(static_cast<std::size_t>(dependencies.results()), 0);
  const auto actor_of = [&](const Op& op) {
    return static_cast<std::size_t>(
        schedule.pipeline.stages[static_cast<std::size_t>(op.stage)].actor);
  };
  // Whether an R has to come in front of `op`.
  const auto recomputes_first = [&](Op op) {
    if (!gives_input_gradient(op.kind)) return false;
    op.kind = OpKind::Recompute;
    return std::find(left.begin(), left.end(), op) != left.end();
  };
  while (!left.empty()) {
    std::vector<Op> ready;
    for (const Op& op : left) {
      const std::vector<Op> inputs = dependencies.inputs(op);
      if (std::all_of(inputs.begin(), inputs.end(),
                      [&](const Op& input) {
                        return done[static_cast<std::size_t>(dependencies.result(input))] != 0;
                      }) &&
          !recomputes_first(op)) {
        ready.push_back(op);
      }
    }
    std::vector<Op> taken{ready[any_of(ready)]};
    if (const Op other = ready[any_of(ready)]; other != taken[0] &&
                                               actor_of(other) == actor_of(taken[0]) &&
                                               overlaps(other) && overlaps(taken[0])) {
      taken.push_back(other);
    }
    for (const Op& op : taken) {
      schedule.order[actor_of(op)].push_back({op, op != taken[0]});
      left.erase(std::find(left.begin(), left.end(), op));
      if (const std::int32_t result = dependencies.result(op); result >= 0) {
        done[static_cast<std::size_t>(result)] = 1;
      }
    }
  }
  const bool learns = schedule.pipeline.learning.kind != LearningKind::ForwardOnly;
  if (learns && schedule.pipeline.routes.size() == 1 && chance(3)) {
    add_updates(schedule, [] { return chance(2); });
  }
  // Most orders do with short queues, too.
  if (chance(2)) schedule.pipeline.learning.queue_capacity = number(1, 3);
  if (!can_run(schedule)) schedule.pipeline.learning.queue_capacity = 0;
  return schedule;
}

// Sizes at random; options where they are numbers that a rule may refuse.
GenerateOptions any_options(const Generator& generator) {
  const auto takes = [&](std::string_view option) {
    return generator.options.find(option) != std::string_view::npos;
  };
  GenerateOptions options{
      .actors = number(1, 9), .chunks = number(1, 4), .microbatches = number(1, 20)};
  if (takes("tokens")) options.slices = number(1, 5);
  if (takes("group") && chance(2)) {
    options.option["group"] = std::to_string(number(1, 20));
  }
  if (generator.name == "zb_v" && chance(2)) options.option["variant"] = "sailsg";
  return options;
}

Schedule any_generated() {
  const auto all = generators();
  const Generator& generator =
      all[static_cast<std::size_t>(number(0, static_cast<std::int32_t>(all.size()) - 1))];
  RC_TAG(std::string(generator.name));
  const auto schedule = generate_near(generator.name, any_options(generator));
  if (!schedule) RC_DISCARD("refused");
  return *schedule;
}

void expect_lowers(const Schedule& schedule) {
  RC_ASSERT(can_run(schedule));
  const Program program = lower(schedule);
  RC_ASSERT(faults(program) == std::vector<std::string>{});
  for (const TransportRow& row : transport_kinds()) {
    RC_ASSERT(check_transport(program, row.kind).fine());
  }
  for (const LoweringPolicy& policy : lowering_policies()) {
    RC_ASSERT(faults(lower(schedule, {.placement = policy.placement})) ==
              std::vector<std::string>{});
  }
  const Program paired = lower(schedule, {.placement = MessagePlacement::Paired});
  RC_ASSERT(check_transport(paired, TransportKind::Grouped).fine());
  const Schedule one = on_one_actor(schedule);
  RC_ASSERT(check(one) == std::vector<Problem>{});
  RC_ASSERT(lower(one).messages.empty());
}

RC_GTEST_PROP(Property, EveryGeneratedScheduleIsValidAndLowers, ()) {
  const Schedule schedule = any_generated();
  RC_ASSERT(check(schedule) == std::vector<Problem>{});
  expect_lowers(schedule);
}

RC_GTEST_PROP(Property, EveryOrderThatTheDependenciesAllowIsValidAndLowers, ()) {
  const Schedule schedule = any_schedule();
  RC_ASSERT(check(schedule) == std::vector<Problem>{});
  expect_lowers(schedule);
}

void mutate(Schedule& schedule) {
  std::vector<Step>& steps = schedule.order[any_of(schedule.order)];
  if (steps.empty()) return;
  Step& step = steps[any_of(steps)];
  const auto at = steps.begin() + (&step - steps.data());
  switch (number(0, 7)) {
    case 7:
      schedule.pipeline.learning.queue_capacity = number(0, 3);
      break;
    case 0:
      std::swap(step, steps[any_of(steps)]);
      break;
    case 1:
      steps.erase(at);
      break;
    case 2:
      steps.push_back(step);
      break;
    case 3: {
      const Step moved = step;
      steps.erase(at);
      schedule.order[any_of(schedule.order)].push_back(moved);
      break;
    }
    case 4:
      step.op.kind = static_cast<OpKind>(number(0, kOpKinds));
      break;
    case 5:
      step.overlaps_previous = !step.overlaps_previous;
      break;
    default: {
      std::int32_t Op::*const fields[] = {&Op::stage, &Op::microbatch, &Op::slice};
      step.op.*fields[number(0, 2)] = number(-1, 6);
    }
  }
}

RC_GTEST_PROP(Property, ABrokenScheduleIsReportedAndAnyOtherLowers, ()) {
  Schedule schedule = chance(2) ? any_schedule() : any_generated();
  for (std::int32_t i = number(1, 3); i > 0; --i) mutate(schedule);
  const std::vector<Problem> problems = check(schedule, "mine.json");
  RC_ASSERT(problems.empty() == can_run(schedule));
  if (problems.empty()) expect_lowers(schedule);
  for (const Problem& problem : problems) {
    const bool of_stages = problem.what.find("are copies of one part") != std::string::npos ||
                           problem.what.find("ops run on actor") != std::string::npos;
    RC_ASSERT(problem.where.starts_with(of_stages ? "mine.json:/stages" : "mine.json:/order"));
    RC_ASSERT(!problem.what.empty() && !problem.hint.empty());
  }
}

RC_GTEST_PROP(Property, ABrokenPipelineNeverCrashes, ()) {
  Schedule schedule = any_schedule();
  Pipeline& pipeline = schedule.pipeline;
  for (std::int32_t i = number(1, 3); i > 0; --i) {
    switch (number(0, 7)) {
      case 7:
        pipeline.learning = {.kind = kLearningKinds[number(0, 2)],
                             .window = number(-1, 5),
                             .stride = number(-1, 5),
                             .queue_capacity = number(-1, 2)};
        break;
      case 0:
        pipeline.actors = number(-1, 6);
        break;
      case 1:
        pipeline.stages[any_of(pipeline.stages)].actor = number(-1, 6);
        break;
      case 2:
        pipeline.stages[any_of(pipeline.stages)].part = number(-1, 6);
        break;
      case 3:
        pipeline.routes[any_of(pipeline.routes)].push_back(number(-1, 8));
        break;
      case 4:
        pipeline.microbatches[any_of(pipeline.microbatches)].route = number(-1, 3);
        break;
      case 5:
        schedule.order.resize(static_cast<std::size_t>(number(0, 6)));
        break;
      default:
        pipeline.stages.resize(static_cast<std::size_t>(number(1, 12)));
    }
  }
  const std::vector<Problem> problems = check(schedule);
  if (problems.empty()) expect_lowers(schedule);
}

}  // namespace
}  // namespace penstock
