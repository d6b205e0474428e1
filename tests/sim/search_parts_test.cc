// What the search's parts promise, on schedules that no search would make.
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "penstock/check.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "random_schedules.h"
#include "search/list_schedule.h"
#include "search/order.h"
#include "search/relaxed.h"
#include "search/rules.h"
#include "search/shift.h"
#include "search/sweep_times.h"
#include "search/windows.h"

namespace penstock {
namespace {

struct Case {
  Schedule schedule;
  CostTable costs;
  Timeline timeline;
  Metrics metrics;
};

Case any_case(const CostChoice& choice) {
  Case one{.schedule =
               random_schedule(*rc::gen::arbitrary<std::uint64_t>(), Variety::Plain).schedule};
  one.costs = random_costs(one.schedule, *rc::gen::arbitrary<std::uint64_t>(), choice);
  one.timeline = simulate(lower(one.schedule), one.costs);
  one.metrics = measure(one.timeline);
  return one;
}

Instance instance_of(const Case& one, const std::vector<double>& in_flight = {},
                     const std::vector<std::int64_t>& bytes = {}) {
  return {one.schedule.pipeline, one.costs, {}, in_flight, bytes};
}

std::vector<double> peaks_in_flight(const Metrics& metrics) {
  std::vector<double> peaks;
  for (const ActorMetrics& actor : metrics.actors) peaks.push_back(actor.peak_in_flight);
  return peaks;
}

std::vector<std::int64_t> peaks_in_bytes(const Metrics& metrics) {
  std::vector<std::int64_t> peaks;
  for (const ActorMetrics& actor : metrics.actors) peaks.push_back(actor.peak_bytes);
  return peaks;
}

RC_GTEST_PROP(SearchParts, AnOrderIsAScheduleAndBack, ()) {
  const Case one = any_case({});
  const Instance instance = instance_of(one);
  RC_ASSERT(schedule_of(instance, order_of(instance, one.schedule), one.schedule.name) ==
            one.schedule);
}

RC_GTEST_PROP(SearchParts, SweepTimesAreTheSimulatorsTimes, ()) {
  const Case one = any_case({.bandwidth = true});
  const Instance instance = instance_of(one);
  const Order order = order_of(instance, one.schedule);
  SweepTimes times(instance);
  RC_ASSERT(times.sweep(order));
  RC_ASSERT(times.makespan() == one.metrics.makespan);
  for (const Span& span : one.timeline.spans) {
    RC_ASSERT(times.start(times.place_of(instance.node_of(span.op))) == span.start);
  }
}

RC_GTEST_PROP(SearchParts, TailsReachFromEveryStartToTheEnd, ()) {
  const Case one = any_case({});
  const Instance instance = instance_of(one);
  const Order order = order_of(instance, one.schedule);
  SweepTimes times(instance);
  RC_ASSERT(times.sweep(order));
  times.sweep_back(order);
  Nanoseconds longest = 0;
  for (const Place& place : times.sequence()) {
    longest = std::max(longest, times.start(place) + times.tail(place));
  }
  RC_ASSERT(longest == times.makespan());
}

RC_GTEST_PROP(SearchParts, RoomIsWhatTheMetricsCount, ()) {
  const Case one = any_case({});
  const std::vector<double> in_flight = peaks_in_flight(one.metrics);
  const std::vector<std::int64_t> bytes = peaks_in_bytes(one.metrics);
  const Instance instance = instance_of(one, in_flight, bytes);
  const Order order = order_of(instance, one.schedule);
  RC_ASSERT(fits(instance, order));
  for (std::int32_t actor = 0; actor < instance.actors(); ++actor) {
    const Room peak = peak_room(instance, order, actor);
    RC_ASSERT(peak.parts == instance.limit(actor).parts);
    RC_ASSERT(peak.bytes == instance.limit(actor).bytes);
  }
}

RC_GTEST_PROP(SearchParts, SplittingEveryBackwardIsLegalAndHoldsNoMore, ()) {
  const Case one = any_case({});
  const Instance instance = instance_of(one, peaks_in_flight(one.metrics));
  const Order split = split_all(instance, order_of(instance, one.schedule));
  RC_ASSERT(check(schedule_of(instance, split, "split")).empty());
  RC_ASSERT(fits(instance, split));
}

// A schedule is its own witness: whatever it holds is a limit that its makespan is reached under.
RC_GTEST_PROP(SearchParts, NoScheduleIsFasterThanTheBounds, ()) {
  const Case one = any_case({.bandwidth = true});
  const Instance instance =
      instance_of(one, peaks_in_flight(one.metrics), peaks_in_bytes(one.metrics));
  const Relaxed relaxed = relax(instance, true);
  const std::vector<Nanoseconds> heads = heads_of(relaxed);
  const std::vector<Nanoseconds> tails = heads_of(reversed(relaxed));
  RC_ASSERT(preemptive_bound(relaxed, heads, tails) <= one.metrics.makespan);
  RC_ASSERT(room_bound(instance, relaxed, heads, tails) <= one.metrics.makespan);
}

RC_GTEST_PROP(SearchParts, NoScheduleIsFasterThanItsWindowsAllow, ()) {
  const Case one = any_case({});
  const Instance instance = instance_of(one, peaks_in_flight(one.metrics));
  const Relaxed relaxed = relax(instance, true);
  RC_ASSERT(windows(relaxed, one.metrics.makespan, 10).possible);
  RC_ASSERT(window_bound(relaxed, 0, one.metrics.makespan) <= one.metrics.makespan);
}

Rule any_rule(const Instance& instance) {
  const std::vector<Preference> all = preferences(instance);
  const std::vector<Turns> turns = kinds_of_turns(instance);
  Rule rule =
      rule_of(instance, *rc::gen::elementOf(all), turns_of(instance, *rc::gen::elementOf(turns)));
  rule.patience = *rc::gen::inRange<Nanoseconds>(0, 1000);
  if (*rc::gen::arbitrary<bool>()) {
    for (std::int64_t& key : rule.key) key = *rc::gen::inRange<std::int64_t>(0, 50);
  }
  return rule;
}

RC_GTEST_PROP(SearchParts, ListSchedulesAreLegalAndFit, ()) {
  const Case one = any_case({.bandwidth = true});
  const Instance instance =
      instance_of(one, peaks_in_flight(one.metrics), peaks_in_bytes(one.metrics));
  const std::optional<Order> order = list_schedule(instance, any_rule(instance));
  // Keys that mix up microbatches may corner an actor whose limit a cunning order keeps.
  if (!order) RC_DISCARD("cornered");
  for (const Problem& problem : check(schedule_of(instance, *order, "list"))) {
    RC_FAIL(to_string(problem));
  }
  RC_ASSERT(fits(instance, *order));
}

RC_GTEST_PROP(SearchParts, WithoutLimitsEveryRuleComesToAnEnd, ()) {
  const Case one = any_case({});
  const Instance instance = instance_of(one);
  RC_ASSERT(list_schedule(instance, any_rule(instance)).has_value());
}

// With room for a microbatch on each actor, any rule ends: nothing is begun that cannot end.
RC_GTEST_PROP(SearchParts, RulesInTurnEndUnderTheTightestLimit, ()) {
  const auto actors = *rc::gen::inRange(1, 6);
  const auto chunks = *rc::gen::inRange(1, 4);
  const auto microbatches = *rc::gen::inRange(1, 9);
  const bool v = *rc::gen::arbitrary<bool>();
  const Pipeline pipeline =
      v ? v_pipeline(actors, chunks, microbatches) : loop_pipeline(actors, chunks, microbatches);
  const std::vector<double> in_flight(static_cast<std::size_t>(actors), 1);
  const Instance instance(pipeline, parse_costs("F=1,I=1,W=1", actors * chunks), {}, in_flight, {});
  for (const Preference& preference : preferences(instance)) {
    const std::optional<Order> order =
        list_schedule(instance, rule_of(instance, preference, turns_of(instance, Turns::AsGiven)));
    RC_ASSERT(order.has_value());
    RC_ASSERT(fits(instance, *order));
  }
}

Shift any_shift(const Order& order) {
  const auto actor = *rc::gen::inRange(0, static_cast<int>(order.items.size()));
  const auto size = static_cast<int>(order.items[static_cast<std::size_t>(actor)].size());
  RC_PRE(size > 1);
  return {actor, *rc::gen::inRange(0, size), *rc::gen::inRange(0, size)};
}

RC_GTEST_PROP(SearchParts, AShiftThatKeepsInputsAndLimitMakesAnOrderOfTheSameKind, ()) {
  const Case one = any_case({});
  const Instance instance = instance_of(one, peaks_in_flight(one.metrics));
  Order order = order_of(instance, one.schedule);
  const Shift shift = any_shift(order);
  std::vector<Item>& items = order.items[static_cast<std::size_t>(shift.actor)];
  const bool inputs = keeps_inputs(instance, items, shift);
  const std::vector<Room> held = held_before(instance, order, shift.actor);
  const auto first = static_cast<std::size_t>(std::min(shift.from, shift.to));
  const bool limit = keeps_limit(instance, order, shift, held[first]);
  const Order before = order;
  apply(shift, items);
  RC_ASSERT(limit == fits(instance, order));
  bool early = false;  // an op before what it needs, as check() says
  for (const Problem& problem : check(schedule_of(instance, order, "shifted"))) {
    early |= problem.what.find("before") != std::string::npos &&
             problem.what.find("waits") == std::string::npos;
  }
  if (shift.from != shift.to) RC_ASSERT(inputs == !early);
  apply({shift.actor, shift.to, shift.from}, items);
  RC_ASSERT(order == before);
}

// Where a shift changes nothing on other actors that it hangs on, its estimate is no more than what
// comes of it.
RC_GTEST_PROP(SearchParts, EstimatesDoNotExceedWhatComes, ()) {
  const Case one = any_case({});
  const Instance instance = instance_of(one);
  Order order = order_of(instance, one.schedule);
  const Shift shift = any_shift(order);
  std::vector<Item>& items = order.items[static_cast<std::size_t>(shift.actor)];
  RC_PRE(shift.from != shift.to && keeps_inputs(instance, items, shift));
  SweepTimes before(instance);
  RC_ASSERT(before.sweep(order));
  before.sweep_back(order);
  const Nanoseconds estimate = ShiftEstimate().of(order, before, shift);
  const std::vector<Item> old_items = items;
  apply(shift, items);
  SweepTimes after(instance);
  RC_PRE(after.sweep(order));
  after.sweep_back(order);
  for (std::int32_t i = std::min(shift.from, shift.to); i <= std::max(shift.from, shift.to); ++i) {
    const Place place{shift.actor, i};
    const Place now = after.place_of(old_items[static_cast<std::size_t>(i)].first);
    RC_PRE(before.arrival(place) == after.arrival(now));
    RC_PRE(before.message_tail(place) == after.message_tail(now));
  }
  RC_ASSERT(estimate <= after.makespan());
}

}  // namespace
}  // namespace penstock
