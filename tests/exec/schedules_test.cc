// Every schedule, on actors that are threads, against the same work on one actor: to the last bit.
#include <cmath>

#include <gtest/gtest.h>

#include "fake_device.h"
#include "runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

MakeDevice fake(bool tied) {
  return [tied](const RunPlan& plan, std::int32_t) {
    return std::make_unique<FakeDevice>(plan, tied);
  };
}

void expect_equal(const RunResult& a, const RunResult& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].loss, b.steps[i].loss) << "step " << i;
    EXPECT_EQ(a.steps[i].gradient_norm, b.steps[i].gradient_norm) << "step " << i;
    EXPECT_EQ(a.steps[i].learning_rate, b.steps[i].learning_rate) << "step " << i;
  }
  EXPECT_EQ(a.parameters_sha256, b.parameters_sha256);
}

TEST(Schedules, AreBitIdenticalToOneActor) {
  int runs = 0;
  for (const ScheduleCase& c : schedule_cases({1, 2, 4}, {1, 2, 3, 4, 8})) {
    const std::optional<Schedule> schedule = make(c);
    if (!schedule) continue;
    SCOPED_TRACE(to_text(c));
    for (const bool tied : {false, true}) {
      const RunResult reference =
          run_in_process(fake_plan(on_one_actor(*schedule), tied, 4), fake(tied));
      const RunPlan plan = fake_plan(*schedule, tied, 4);
      const RunResult result = run_in_process(
          plan, fake(tied), {.seed = static_cast<std::uint64_t>(runs), .longest_delay = 100us});
      expect_equal(result, reference);
      EXPECT_TRUE(std::isfinite(result.steps[3].loss));
      EXPECT_NE(result.steps[0].loss, result.steps[3].loss);
      ++runs;
    }
  }
  EXPECT_GE(runs, 100);
}

// Summing in another order gives other bits: the test above would notice.
TEST(Schedules, FakeDeviceSeesTheOrder) {
  Schedule schedule = generate("gpipe", {.actors = 1, .microbatches = 8});
  const RunResult one = run_in_process(fake_plan(schedule, false, 2), fake(false));
  std::swap(schedule.order[0][8], schedule.order[0][15]);
  const RunResult other = run_in_process(fake_plan(schedule, false, 2), fake(false));
  EXPECT_NE(one.steps[0].gradient_norm, other.steps[0].gradient_norm);
  EXPECT_NE(one.parameters_sha256, other.parameters_sha256);
}

// B split into I and W, W at the very end of each stage's list.
Schedule split_backward(Schedule schedule) {
  for (std::vector<Step>& order : schedule.order) {
    std::vector<Step> tail;
    for (Step& step : order) {
      if (step.op.kind != OpKind::Backward) continue;
      step.op.kind = OpKind::BackwardInput;
      tail.push_back(step);
      tail.back().op.kind = OpKind::BackwardWeight;
    }
    order.insert(order.end(), tail.begin(), tail.end());
  }
  return schedule;
}

TEST(Schedules, SplitBackwardGivesTheSameBits) {
  for (const char* name : {"1f1b", "gpipe", "interleaved_1f1b"}) {
    const std::int32_t chunks = std::string(name) == "interleaved_1f1b" ? 2 : 1;
    const Schedule whole = generate(name, {.actors = 2, .chunks = chunks, .microbatches = 4});
    const RunResult reference = run_in_process(fake_plan(whole, true, 3), fake(true));
    const RunResult split = run_in_process(fake_plan(split_backward(whole), true, 3), fake(true),
                                           {.seed = 5, .longest_delay = 100us});
    expect_equal(split, reference);
  }
}

// A pair runs one op after the other; both results leave at its end.
TEST(Schedules, PairsGiveTheSameBits) {
  Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 6});
  const RunResult reference = run_in_process(fake_plan(schedule, true, 3), fake(true));
  std::vector<Step>& order = schedule.order[0];  // 0F0 0F1 0B0 0F2 0B1 0F3 ..
  for (std::size_t i = 3; i + 1 < order.size() && order[i].op.kind == OpKind::Forward; i += 2) {
    order[i + 1].overlaps_previous = true;
  }
  const RunPlan plan = fake_plan(schedule, true, 3);
  const RunResult pairs = run_in_process(plan, fake(true), {.seed = 2, .longest_delay = 100us});
  expect_equal(pairs, reference);
  const std::vector<Span>& spans = pairs.measured.spans;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].actor != spans[i - 1].actor) continue;
    EXPECT_LE(spans[i - 1].end, spans[i].start);
  }
}

TEST(Schedules, NeverDeadlockUnderRendezvous) {
  for (const ScheduleCase& c : schedule_cases({2, 4}, {1, 2, 3, 4, 8})) {
    const std::optional<Schedule> schedule = make(c);
    if (!schedule) continue;
    SCOPED_TRACE(to_text(c));
    // Paired transfers overlap, so a strictly blocking transport is only promised for Linear.
    EXPECT_NO_THROW(
        run_in_process(fake_plan(*schedule, true, 1), fake(true), {.rendezvous = true}));
  }
}

TEST(Schedules, TimelineOfTheMedianStep) {
  const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 4});
  const RunPlan plan = fake_plan(schedule, true, 6);
  const RunResult result = run_in_process(plan, fake(true));
  const Timeline& t = result.measured;
  EXPECT_EQ(t.source, TimelineSource::Measured);
  EXPECT_EQ(t.actors, 2);
  EXPECT_EQ(t.microbatches, 4);
  EXPECT_EQ(t.tokens, 4 * 37);
  ASSERT_EQ(t.stages.size(), 2U);
  EXPECT_EQ(t.stages[1].weight_bytes, 37 * 12);
  ASSERT_EQ(t.transfers.size(), plan.program.messages.size());
  // 16 ops, and per actor a reduction, a norm and an update.
  ASSERT_EQ(t.spans.size(), 16U + 6U);
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    const Span& span = t.spans[i];
    EXPECT_LE(0, span.start);
    EXPECT_LE(span.start, span.end);
    const bool follows = i > 0 && t.spans[i - 1].actor == span.actor;
    EXPECT_LE(follows ? t.spans[i - 1].end : 0, span.start);
    if (span.awaits < 0) continue;
    const Transfer& transfer = t.transfers[static_cast<std::size_t>(span.awaits)];
    EXPECT_LE(transfer.ready, transfer.start);
    EXPECT_LE(transfer.start, transfer.end);
    EXPECT_LE(transfer.end, span.start);
    EXPECT_EQ(transfer.to, span.actor);
    EXPECT_EQ(transfer.bytes, 37 * 4);
  }
  ASSERT_EQ(result.traffic.size(), 2U);
  // Four activations a step, and the shared gradient once.
  EXPECT_EQ(result.traffic[0].messages_sent, 6 * 4);
  EXPECT_EQ(result.traffic[0].bytes_sent, 6 * 4 * 37 * 4);
}

TEST(Schedules, ProfileLeavesTrainingAsItWas) {
  const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 4});
  const RunPlan plan = fake_plan(schedule, true, 4);
  const RunResult without = run_in_process(plan, fake(true));
  const RunResult with = run_in_process(plan, fake(true), {}, {.profile_steps = 3, .on_step = {}});
  expect_equal(with, without);
  EXPECT_EQ(with.traffic[0].messages_sent, without.traffic[0].messages_sent);
  ASSERT_EQ(with.profile.stages.size(), 2U);
  EXPECT_TRUE(missing_costs(with.profile, schedule).empty());
  EXPECT_EQ(with.profile.stages[0].message.bytes, 37 * 4);
  EXPECT_GE(with.profile.stages[0].message.latency, 0);
  EXPECT_GT(with.profile.stages[1].op[1]->base, 0);
}

TEST(Schedules, OnStepRunsOnTheRootOnly) {
  const Schedule schedule = generate("gpipe", {.actors = 3, .microbatches = 2});
  std::vector<std::int32_t> seen;
  RunOptions options;
  options.on_step = [&](const StepRecord& record) { seen.push_back(record.step); };
  run_in_process(fake_plan(schedule, false, 3), fake(false), {}, options);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{1, 2, 3}));
}

}  // namespace
}  // namespace penstock
