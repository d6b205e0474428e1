// What changes an order keeps it legal and says what it takes, also where ops of any kind overlap.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "penstock/check.h"
#include "penstock/formats.h"
#include "penstock/generate.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "random_schedules.h"
#include "search/construct.h"
#include "search/forms.h"
#include "search/rebuild.h"
#include "search/shaken.h"
#include "search/site.h"
#include "search/tabu.h"

namespace penstock {
namespace {

constexpr std::int64_t kOrders = 60;  // that each of them may price

Metrics metrics_of(const Schedule& schedule, const CostTable& costs) {
  return measure(simulate(lower(schedule), costs));
}

// Of a schedule that keeps its limits: everything that makes another order from it.
std::vector<Candidate> changed(const Instance& instance, const Candidate& start,
                               std::uint64_t seed) {
  Random random(seed);
  Budget budget(kOrders);
  std::vector<Candidate> all;
  all.push_back(tabu_search(instance, start, 0, budget, random));
  budget = Budget(kOrders);
  all.push_back(with_best_forms(instance, start, budget));
  budget = Budget(kOrders);
  if (auto moved = shaken(instance, start, 5, budget, random)) all.push_back(std::move(*moved));
  budget = Budget(kOrders);
  if (auto again = rebuild(instance, start, 0.1, budget, random)) all.push_back(std::move(*again));
  return all;
}

Candidate candidate_of(const Instance& instance, const Schedule& schedule, const CostTable& costs) {
  return {.order = order_of(instance, schedule), .makespan = metrics_of(schedule, costs).makespan};
}

RC_GTEST_PROP(SearchMoves, AreLegalWithinLimitsAndPricedAsTheyRun, ()) {
  const Schedule schedule =
      random_schedule(*rc::gen::arbitrary<std::uint64_t>(), Variety::Plain).schedule;
  const CostTable costs =
      random_costs(schedule, *rc::gen::arbitrary<std::uint64_t>(), {.bandwidth = true});
  const Metrics metrics = metrics_of(schedule, costs);
  std::vector<double> in_flight;
  std::vector<std::int64_t> bytes;
  for (const ActorMetrics& actor : metrics.actors) {
    in_flight.push_back(actor.peak_in_flight);
    bytes.push_back(actor.peak_bytes);
  }
  const Instance instance(schedule.pipeline, costs, {}, in_flight, bytes);
  const Candidate start = candidate_of(instance, schedule, costs);
  for (const Candidate& one : changed(instance, start, *rc::gen::arbitrary<std::uint64_t>())) {
    const Schedule after = schedule_of(instance, one.order, schedule.name);
    RC_ASSERT(check(after).empty());
    RC_ASSERT(fits(instance, one.order));
    const Metrics now = metrics_of(after, costs);
    RC_ASSERT(now.makespan == one.makespan);
    for (std::size_t actor = 0; actor < bytes.size(); ++actor) {
      RC_ASSERT(now.actors[actor].peak_in_flight <= in_flight[actor] + 1e-9);
      RC_ASSERT(now.actors[actor].peak_bytes <= bytes[actor]);
    }
  }
  // And the search as a whole, planted with it.
  Site site(instance, 1);
  site.plant(schedule);
  site.find_bound();
  RC_ASSERT(site.bound() <= metrics.makespan);
  Budget budget(kOrders);
  site.improve(budget);
  RC_ASSERT(site.pool().best().makespan <= metrics.makespan);
  RC_ASSERT(check(schedule_of(instance, site.pool().best().order, "best")).empty());
}

// The bound of one actor that runs ten microbatches, each forward together with a whole backward
// that could be split: 3 + 9 * 2 + 8.
TEST(SearchMoves, WholeBackwardsInPairsAreBoundedAsOneOp) {
  Schedule schedule = generate("1f1b", {.actors = 1, .microbatches = 10});
  std::vector<Step>& order = schedule.order[0];
  order = {{{OpKind::Forward, 0, 0}}};
  for (std::int32_t i = 1; i < 10; ++i) {
    order.push_back({{OpKind::Forward, 0, i}});
    order.push_back({{OpKind::Backward, 0, i - 1}, true});
  }
  order.push_back({{OpKind::Backward, 0, 9}});
  ASSERT_TRUE(check(schedule).empty());
  const CostTable costs = parse_costs("F=3,B=8,I=4,W=4,overlap=2", 1);
  ASSERT_EQ(metrics_of(schedule, costs).makespan, from_ms(29));
  Site site(Instance(schedule.pipeline, costs, {}, {}, {}), 1);
  site.plant(schedule);
  site.find_bound();
  EXPECT_LE(site.bound(), from_ms(29));
}

// W inside a pair has no place of its own to go to when its backward would be made whole.
TEST(SearchMoves, AWeightGradientInAPairKeepsItsForm) {
  const Schedule schedule = parse(
      "0: 0F0 0F1 0I0 (0I1;0W0) 0W1\n"
      "1: 1F0 1I0 (1F1;1W0) 1I1 1W1");
  ASSERT_TRUE(check(schedule).empty());
  const CostTable costs = parse_costs("F=1,B=2,I=2,W=2", 2);  // a whole B takes half the time
  const Instance instance(schedule.pipeline, costs, {}, {}, {});
  const Candidate start = candidate_of(instance, schedule, costs);
  Budget budget(1000);
  const Candidate best = with_best_forms(instance, start, budget);
  const Schedule after = schedule_of(instance, best.order, "after");
  EXPECT_TRUE(check(after).empty());
  EXPECT_LT(best.makespan, start.makespan) << "the second microbatch's backwards become whole";
  EXPECT_EQ(best.makespan, metrics_of(after, costs).makespan);
  const auto holds = [](const std::vector<Step>& steps, const Op& op) {
    return std::any_of(steps.begin(), steps.end(), [&](const Step& s) { return s.op == op; });
  };
  EXPECT_TRUE(holds(after.order[0], {OpKind::BackwardWeight, 0, 0}));
  EXPECT_TRUE(holds(after.order[1], {OpKind::BackwardWeight, 1, 0}));
  for (const Candidate& one : changed(instance, start, 3)) {
    EXPECT_TRUE(check(schedule_of(instance, one.order, "changed")).empty());
  }
}

}  // namespace
}  // namespace penstock
