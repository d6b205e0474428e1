// Bounded queues, executed: nobody runs ahead of the room that the next stage has made.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "fake_device.h"
#include "list_schedule.h"
#include "penstock/check.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

MakeDevice fake() {
  return
      [](const RunPlan& plan, std::int32_t) { return std::make_unique<FakeDevice>(plan, false); };
}

// Most activations that waited between `stage` and the next: handed over, and not yet started on.
std::int32_t most_waiting(const Timeline& timeline, std::int32_t stage) {
  std::vector<std::pair<Nanoseconds, int>> changes;
  for (const Transfer& transfer : timeline.transfers) {
    const bool here = transfer.kind == OpKind::Forward && transfer.op.stage == stage;
    if (here) changes.push_back({transfer.ready, 1});
  }
  for (const Span& span : timeline.spans) {
    const bool starts = span.kind == ActionKind::Compute && span.op.kind == OpKind::Forward;
    if (starts && span.op.stage == stage + 1) changes.push_back({span.start, -1});
  }
  std::sort(changes.begin(), changes.end());
  std::int32_t waiting = 0;
  std::int32_t most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, waiting += change);
  return most;
}

RunPlan sleeping(Schedule schedule, std::int32_t capacity, const CostTable& costs) {
  schedule.pipeline.learning.queue_capacity = capacity;
  RunPlan plan;
  plan.batch = {.global = static_cast<std::int32_t>(schedule.pipeline.microbatches.size()),
                .micro = 1,
                .sequence = 1};
  plan.program = lower(std::move(schedule));
  plan.train.steps = 2;
  plan.train.device = DeviceKind::Sleep;
  plan.costs = costs;
  return plan;
}

// The last stage is slow: without a bound everything would wait in front of it.
TEST(Queues, HoldNoMoreThanTheyMay) {
  const Schedule schedule = generate("local", {.actors = 3, .microbatches = 8});
  CostTable costs = parse_costs("F=0.5,B=0.5,bytes=64", 3);
  costs.stages[2] = parse_costs("F=3,B=3,bytes=64", 3).stages[2];
  for (const std::int32_t capacity : {1, 2, 3, 0}) {
    SCOPED_TRACE(capacity);
    const RunPlan plan = sleeping(schedule, capacity, costs);
    const RunResult result = run_in_process(plan, make_device);
    const Timeline predicted = simulate(plan.program, costs);
    for (const std::int32_t stage : {0, 1}) {
      const std::int32_t waiting = most_waiting(result.measured, stage);
      if (capacity > 0) {
        EXPECT_LE(waiting, capacity);
        EXPECT_LE(most_waiting(predicted, stage), capacity);
      } else if (stage == 1) {
        EXPECT_GT(waiting, 3);
      }
    }
    EXPECT_EQ(most_waiting(predicted, 1), capacity == 0 ? 6 : capacity);
    EXPECT_GE(most_waiting(result.measured, 1), capacity);
    if (capacity != 1) continue;
    // Actor 0 waits, too: the way to the last stage is full.
    const ActorMetrics& first = measure(result.measured).actors[0];
    EXPECT_GT(first.idle[static_cast<std::size_t>(IdleCause::Blocked)], 5'000'000);
  }
}

// The wait is no part of the op that made the activation.
TEST(Queues, WaitingIsNotWork) {
  const Schedule schedule = generate("local", {.actors = 2, .microbatches = 4});
  CostTable costs = parse_costs("F=1,B=1,bytes=64", 2);
  costs.stages[1] = parse_costs("F=5,B=5,bytes=64", 2).stages[1];
  const RunResult result = run_in_process(sleeping(schedule, 1, costs), make_device);
  for (const Span& span : result.measured.spans) {
    if (span.actor != 0 || span.kind != ActionKind::Compute) continue;
    EXPECT_LT(span.end - span.start, 4'000'000) << to_string(span.op);
  }
}

Schedule bounded(Schedule schedule, std::int32_t capacity) {
  schedule.pipeline.learning.queue_capacity = capacity;
  return schedule;
}

// Any order that gets through, also with several boundaries between two actors.
TEST(Queues, ChangeNoBit) {
  int runs = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const Pipeline shapes[] = {loop_pipeline(3, 1, 5), loop_pipeline(2, 2, 4), v_pipeline(2, 5),
                               two_way(2, 2, 4), sliced(loop_pipeline(2, 1, 3), {5, 8, 3})};
    Schedule schedule = list_schedule(
        shapes[seed % 5], {.seed = seed, .split = random() % 2 == 0, .pairs = random() % 2 == 0});
    if (random() % 2 == 0) schedule.pipeline.learning.kind = LearningKind::Local;
    const bool sliced_too = schedule.pipeline.microbatches[0].slices() > 1;
    if (sliced_too) schedule.pipeline.learning.kind = LearningKind::Backprop;
    const RunResult plain = run_in_process(fake_plan(on_one_actor(schedule), false, 3), fake());
    for (const std::int32_t capacity : {1, 2, 3}) {
      const Schedule queued = bounded(schedule, capacity);
      if (!check(queued).empty()) continue;  // too small for this order
      SCOPED_TRACE(fmt::format("{} {}", seed, capacity));
      const RunResult result = run_in_process(fake_plan(queued, false, 3), fake(),
                                              {.seed = seed, .longest_delay = 100us});
      EXPECT_EQ(result.steps[2].loss, plain.steps[2].loss);
      EXPECT_EQ(result.parameters_sha256, plain.parameters_sha256);
      for (std::size_t actor = 0; actor < result.traffic.size(); ++actor) {
        const RunResult free = run_in_process(fake_plan(schedule, false, 3), fake());
        EXPECT_EQ(result.traffic[actor].messages_sent, free.traffic[actor].messages_sent);
      }
      ++runs;
    }
  }
  EXPECT_GE(runs, 20);
}

// A wait for what comes only behind it is a deadlock, which the transport sees.
TEST(Queues, ABlockedActorSaysWhatItWaitsFor) {
  Program program = lower(bounded(generate("local", {.actors = 2, .microbatches = 3}), 1));
  const auto compute_of = [&](const Op& op) {
    return std::ranges::find(program.computes, op, &Compute::op) - program.computes.begin();
  };
  const auto waits = compute_of({OpKind::Forward, 0, 1, 0});
  program.computes[static_cast<std::size_t>(waits)].room =
      static_cast<std::int32_t>(compute_of({OpKind::Backward, 1, 2, 0}));
  try {
    run_in_process(fake_plan(std::move(program), 1), fake());
    FAIL() << "nobody can go on";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("actor 0: at room for the activation of 0F1"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace penstock
