// What holds for every schedule and all costs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "longest_path.h"
#include "penstock/check.h"
#include "penstock/deadlock.h"
#include "penstock/lowering.h"
#include "penstock/trace.h"
#include "random_schedules.h"
#include "scenarios.h"

namespace penstock {
namespace {

constexpr P2p kModes[] = {P2p::Async, P2p::SingleStream, P2p::Blocking};

struct Case {
  RandomSchedule random;
  CostTable costs;
  Program program;
};

Case any_case(const CostChoice& choice) {
  Case one{
      .random = random_schedule(*rc::gen::arbitrary<std::uint64_t>()), .costs = {}, .program = {}};
  one.costs = random_costs(one.random.schedule, *rc::gen::arbitrary<std::uint64_t>(), choice);
  const auto policies = lowering_policies();
  const auto placement = policies[*rc::gen::inRange<std::size_t>(0, policies.size())].placement;
  one.program = lower(one.random.schedule, {.placement = placement});
  return one;
}

Nanoseconds last_end(const Timeline& timeline) {
  Nanoseconds end = 0;
  for (const Span& span : timeline.spans) end = std::max(end, span.end);
  return end;
}

RC_GTEST_PROP(Property, RandomSchedulesAreLegal, ()) {
  const Case one = any_case({});
  for (const Problem& problem : check(one.random.schedule)) RC_FAIL(to_string(problem));
  RC_ASSERT(missing_costs(one.costs, one.random.schedule).empty());
}

RC_GTEST_PROP(Property, SweepEqualsEngine, ()) {
  const Case one = any_case({.step_end = true});
  RC_ASSERT(can_sweep(one.costs));
  RC_ASSERT(sweep_makespan(one.program, one.costs) == last_end(simulate(one.program, one.costs)));
}

RC_GTEST_PROP(Property, BothEqualTheLongestPath, ()) {
  const Case one = any_case({});
  const Nanoseconds longest = longest_path(one.random, one.costs);
  RC_ASSERT(sweep_makespan(one.program, one.costs) == longest);
  RC_ASSERT(last_end(simulate(one.program, one.costs)) == longest);
}

// Linear programs cannot get stuck in any mode.
RC_GTEST_PROP(Property, BusyAndIdleAddUpToTheMakespan, ()) {
  const Case one = any_case({.bandwidth = true, .step_end = true});
  const Program linear = lower(one.random.schedule);
  for (const P2p mode : kModes) {
    const Timeline timeline = simulate(linear, one.costs, {.p2p = mode});
    const Metrics metrics = measure(timeline);
    std::vector<Nanoseconds> stretches(metrics.actors.size(), 0);
    for (const Idle& idle : idle_stretches(timeline)) {
      RC_ASSERT(idle.start < idle.end);
      stretches[static_cast<std::size_t>(idle.actor)] += idle.end - idle.start;
    }
    for (std::size_t actor = 0; actor < metrics.actors.size(); ++actor) {
      Nanoseconds sum = metrics.actors[actor].busy;
      for (const Nanoseconds idle : metrics.actors[actor].idle) sum += idle;
      RC_ASSERT(sum == metrics.makespan);
      RC_ASSERT(stretches[actor] == metrics.makespan - metrics.actors[actor].busy);
    }
  }
}

RC_GTEST_PROP(Property, CriticalPathHasNoGaps, ()) {
  const Case one = any_case({.bandwidth = true, .step_end = true});
  const Program linear = lower(one.random.schedule);
  for (const P2p mode : kModes) {
    const Timeline timeline = simulate(linear, one.costs, {.p2p = mode});
    const std::vector<CriticalLink> path = critical_path(timeline);
    RC_ASSERT(!path.empty());
    RC_ASSERT(path.front().start == 0);
    RC_ASSERT(path.back().end == last_end(timeline));
    for (std::size_t i = 1; i < path.size(); ++i) {
      RC_LOG() << name(mode) << " link " << i << "\n";
      RC_ASSERT(path[i - 1].end == path[i].start);
    }
  }
}

// In a measured step an exchange starts a moment after its last actor came: that is all that the
// path may leave out.
RC_GTEST_PROP(Property, CriticalPathPassesTheLastToReachAnExchange, ()) {
  const Case one = any_case({.bandwidth = true, .step_end = true});
  Timeline timeline = simulate(lower(one.random.schedule), one.costs);
  const Nanoseconds lag = *rc::gen::inRange<Nanoseconds>(1, 1000);
  for (Span& span : timeline.spans) {
    if (span.kind == ActionKind::Compute) continue;
    span.start += lag;
    span.end += lag;
  }
  const std::vector<CriticalLink> path = critical_path(timeline);
  RC_ASSERT(path.front().start == 0);
  RC_ASSERT(path.back().end == last_end(timeline));
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Nanoseconds gap = path[i].start - path[i - 1].end;
    const std::int32_t span = path[i].span;
    const bool ends_step =
        span >= 0 && timeline.spans[static_cast<std::size_t>(span)].kind != ActionKind::Compute;
    RC_ASSERT(gap >= 0);
    RC_ASSERT(gap <= (ends_step ? lag : 0));
  }
}

// The lanes run one thing at a time, inputs come before their users, and transfers wait for their
// producers, in every mode.
RC_GTEST_PROP(Property, TimelinesKeepTheRules, ()) {
  const Case one = any_case({.bandwidth = true, .step_end = true});
  const Program linear = lower(one.random.schedule);
  for (const P2p mode : kModes) {
    const Timeline timeline = simulate(linear, one.costs, {.p2p = mode});
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const Span& span = timeline.spans[i];
      if (span.awaits >= 0) {
        RC_ASSERT(timeline.transfers[static_cast<std::size_t>(span.awaits)].end <= span.start);
      }
      if (i == 0 || timeline.spans[i - 1].actor != span.actor) continue;
      const Span& before = timeline.spans[i - 1];
      RC_ASSERT(span.start >= (span.overlaps_previous ? before.start : before.end));
    }
    for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
      const Transfer& transfer = timeline.transfers[i];
      RC_ASSERT(transfer.ready <= transfer.start);
      RC_ASSERT(transfer.start <= transfer.end);
      RC_ASSERT(transfer.op ==
                linear.computes[static_cast<std::size_t>(linear.messages[i].producer)].op);
    }
  }
}

// Where receives stand late, transfers may get stuck: under Blocking just where the checker says
// so.
RC_GTEST_PROP(Property, NothingHangs, ()) {
  const Case one = any_case({.bandwidth = true, .step_end = true});
  const auto gets_through = [&](P2p mode) {
    try {
      simulate(one.program, one.costs, {.p2p = mode});
      return true;
    } catch (const Error& error) {
      RC_ASSERT(error.problems().front().what.find("waits for actor") != std::string::npos);
      return false;
    }
  };
  const bool grouped = check_transport(one.program, TransportKind::Grouped).fine();
  RC_ASSERT(gets_through(P2p::Async));
  RC_ASSERT(gets_through(P2p::Blocking) == grouped);
  const bool one_by_one = check_transport(one.program, TransportKind::Rendezvous).fine();
  RC_ASSERT(gets_through(P2p::SingleStream) || !one_by_one);
}

// Contention costs time and never saves any, for a fixed order per lane.
RC_GTEST_PROP(Property, ContentionOnlyDelays, ()) {
  const Case one = any_case({.bandwidth = true});
  const Program linear = lower(one.random.schedule);
  const Nanoseconds async = last_end(simulate(linear, one.costs));
  RC_ASSERT(last_end(simulate(linear, one.costs, {.p2p = P2p::SingleStream})) >= async);
  RC_ASSERT(last_end(simulate(linear, one.costs, {.p2p = P2p::Blocking})) >= async);
}

RC_GTEST_PROP(Property, SameInputSameTimeline, ()) {
  const Case one = any_case({.bandwidth = true, .step_end = true});
  const SimulateOptions options{.jitter = 0.3, .seed = *rc::gen::arbitrary<std::uint64_t>()};
  RC_ASSERT(simulate(one.program, one.costs, options) == simulate(one.program, one.costs, options));
}

// The peak lies between those with nothing and with everything left for W, op by op of every
// actor; and saying that all is left says nothing.
RC_GTEST_PROP(Property, WhatInputGradientsLeaveBoundsThePeak, ()) {
  const Case one = any_case({});
  const auto with = [&](std::optional<std::int64_t> (*left)(const StageCosts&)) {
    CostTable costs = one.costs;
    for (StageCosts& stage : costs.stages) stage.left_bytes = left(stage);
    return simulate(one.program, costs);
  };
  using Left = std::optional<std::int64_t>;
  const Timeline all = with([](const StageCosts&) { return Left{}; });
  const Timeline said = with([](const StageCosts& stage) { return Left{stage.activation_bytes}; });
  const Metrics least = measure(with([](const StageCosts&) { return Left{0}; }));
  const Metrics most = measure(all);
  const Metrics given = measure(simulate(one.program, one.costs));
  RC_ASSERT(write_trace(all) == write_trace(said));
  for (std::size_t actor = 0; actor < most.actors.size(); ++actor) {
    RC_ASSERT(least.actors[actor].peak_bytes <= given.actors[actor].peak_bytes);
    RC_ASSERT(given.actors[actor].peak_bytes <= most.actors[actor].peak_bytes);
    RC_ASSERT(given.actors[actor].peak_in_flight == most.actors[actor].peak_in_flight);
  }
}

RC_GTEST_PROP(Property, InFlightReturnsToNothing, ()) {
  const Case one = any_case({});
  const Timeline timeline = simulate(one.program, one.costs);
  const Metrics metrics = measure(timeline);
  const std::vector<std::vector<MemorySample>> samples = memory(timeline);
  std::vector<std::int64_t> weights(samples.size(), 0);
  for (const TimelineStage& stage : timeline.stages) {
    weights[static_cast<std::size_t>(stage.actor)] += stage.weight_bytes;
  }
  for (std::size_t actor = 0; actor < samples.size(); ++actor) {
    RC_ASSERT(samples[actor].back().in_flight == 0);
    RC_ASSERT(samples[actor].back().bytes == weights[actor]);
    for (const MemorySample& sample : samples[actor]) {
      RC_ASSERT(sample.bytes <= metrics.actors[actor].peak_bytes);
      RC_ASSERT(sample.in_flight <= metrics.actors[actor].peak_in_flight);
    }
  }
}

}  // namespace
}  // namespace penstock
