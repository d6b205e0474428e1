// The search against the catalogue, and its promises.
#include "penstock/search.h"

#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "../generate_near.h"
#include "penstock/check.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"

namespace penstock {
namespace {

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : random_(seed) {}
  // first .. last
  std::int32_t from(std::int32_t first, std::int32_t last) {
    return first +
           static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool once_in(std::int32_t count) { return from(1, count) == 1; }

 private:
  std::mt19937_64 random_;
};

struct Instances {
  CostTable costs;
  SearchOptions options;
  bool uneven = false;
};

// p 2 .. 6, m 2 .. 12; mostly uneven stages, half of them with hop latency, half with a limit.
Instances random_instance(std::uint64_t seed) {
  Numbers random(seed);
  const std::int32_t actors = random.from(2, 6);
  const std::int32_t chunks = random.once_in(4) ? 2 : 1;
  Instances one{.costs = {},
                .options = {.actors = actors,
                            .chunks = chunks,
                            .microbatches = random.from(2, 12),
                            .budget = 400,
                            .tree = seed % 10 == 0 ? 50 : 0,
                            .seed = seed},
                .uneven = !random.once_in(5)};
  const Nanoseconds latency = random.once_in(2) ? random.from(1, 20) * 10'000 : 0;
  for (std::int32_t stage = 0; stage < actors * chunks; ++stage) {
    const Nanoseconds unit = one.uneven ? random.from(50, 150) * 10'000 : 1'000'000;
    StageCosts costs;
    costs.op[0] = Duration{.base = unit};
    costs.op[2] = Duration{.base = one.uneven ? unit * random.from(90, 130) / 100 : unit};
    costs.op[3] = Duration{.base = one.uneven ? unit * random.from(60, 100) / 100 : unit};
    costs.message.latency = latency;
    costs.activation_bytes = random.from(1, 100);
    costs.weight_bytes = 100;
    one.costs.stages.push_back(std::move(costs));
  }
  if (random.once_in(2)) {
    one.options.in_flight = {static_cast<double>(random.from(1, actors + 2))};
  } else if (random.once_in(3)) {
    one.options.bytes = {100 * chunks + 100 * chunks * random.from(1, actors)};
    for (StageCosts& costs : one.costs.stages) {
      if (seed % 2 == 0) costs.left_bytes = costs.activation_bytes * random.from(0, 10) / 10;
    }
  }
  return one;
}

std::int32_t parts_of(const Pipeline& pipeline) {
  std::int32_t last = -1;
  for (const Stage& stage : pipeline.stages) last = std::max(last, stage.part);
  return last + 1;
}

Metrics metrics_of(const Schedule& schedule, const CostTable& costs) {
  return measure(simulate(lower(schedule), costs_of_copies(costs, schedule.pipeline)));
}

bool keeps(const Metrics& metrics, const SearchOptions& options) {
  for (const ActorMetrics& actor : metrics.actors) {
    if (!options.in_flight.empty() && actor.peak_in_flight > options.in_flight[0] + 1e-9) {
      return false;
    }
    if (!options.bytes.empty() && actor.peak_bytes > options.bytes[0]) return false;
  }
  return true;
}

// The fastest of the catalogue that keeps the limits.
std::optional<Nanoseconds> best_of_catalogue(const Instances& one) {
  std::optional<Nanoseconds> best;
  const SearchOptions& options = one.options;
  for (const Generator& generator : generators()) {
    const auto schedule = generate_if_legal(generator.name, {.actors = options.actors,
                                                             .chunks = options.chunks,
                                                             .microbatches = options.microbatches,
                                                             .costs = one.costs});
    // What learns otherwise, or updates at other times, does other work.
    if (schedule && (schedule->pipeline.learning != Learning{} || updates_inside(*schedule))) {
      continue;
    }
    if (!schedule || schedule->pipeline.actors != options.actors ||
        parts_of(schedule->pipeline) != static_cast<std::int32_t>(one.costs.stages.size())) {
      continue;
    }
    const Metrics metrics = metrics_of(*schedule, one.costs);
    if (!keeps(metrics, options)) continue;
    if (!best || metrics.makespan < *best) best = metrics.makespan;
  }
  return best;
}

TEST(Search, IsNeverWorseThanTheCatalogueAndMostlyBetter) {
  int uneven = 0;
  int better = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Instances one = random_instance(seed);
    const SearchResult result = search(one.costs, one.options);
    const Metrics metrics = metrics_of(result.schedule, one.costs);
    ASSERT_TRUE(check(result.schedule).empty()) << seed;
    ASSERT_EQ(metrics.makespan, result.makespan) << seed;
    ASSERT_TRUE(keeps(metrics, one.options)) << seed;
    ASSERT_LE(result.bound, result.makespan) << seed;
    const std::optional<Nanoseconds> catalogue = best_of_catalogue(one);
    if (catalogue) {
      ASSERT_LE(result.makespan, *catalogue) << seed;
      ASSERT_LE(result.bound, *catalogue) << seed;
    }
    if (!one.uneven || !catalogue) continue;
    ++uneven;
    better += result.makespan < *catalogue ? 1 : 0;
  }
  EXPECT_GE(uneven, 80);
  EXPECT_GE(2 * better, uneven);
}

TEST(Search, SameInputSameSchedule) {
  for (const std::uint64_t seed : {3, 10, 14, 15, 20}) {  // 10, 20: with the integer programme
    const Instances one = random_instance(seed);
    const SearchResult first = search(one.costs, one.options);
    const SearchResult second = search(one.costs, one.options);
    EXPECT_EQ(first.schedule, second.schedule);
    EXPECT_EQ(first.bound, second.bound);
  }
}

TEST(Search, AddsWhatTheStepsEndCostsToTimeAndBound) {
  CostTable costs = parse_costs("F=1,I=1,W=1,update=2,norm=3", 3);
  const SearchOptions options{.actors = 3, .microbatches = 6, .placement = StagePlacement::Loop};
  const SearchResult with_end = search(costs, options);
  const SearchResult without = search(parse_costs("F=1,I=1,W=1", 3), options);
  EXPECT_EQ(with_end.makespan, without.makespan + from_ms(5));
  EXPECT_EQ(with_end.bound, without.bound + from_ms(5));
}

TEST(Search, PlacementAndFormOfTheBackwardAreAsAsked) {
  const CostTable costs = parse_costs("F=1,I=1,W=1", 6);
  SearchOptions options{.actors = 3, .chunks = 2, .microbatches = 6, .budget = 500};
  options.placement = StagePlacement::Loop;
  options.split = false;
  const SearchResult loop = search(costs, options);
  EXPECT_EQ(loop.schedule.pipeline, loop_pipeline(3, 2, 6));
  options.placement = StagePlacement::V;
  options.split = true;
  const SearchResult v = search(costs, options);
  EXPECT_EQ(v.schedule.pipeline, v_pipeline(3, 2, 6));
  const auto count = [](const Schedule& schedule, OpKind kind) {
    std::ptrdiff_t found = 0;
    for (const std::vector<Step>& steps : schedule.order) {
      found += std::count_if(steps.begin(), steps.end(),
                             [&](const Step& step) { return step.op.kind == kind; });
    }
    return found;
  };
  EXPECT_EQ(count(loop.schedule, OpKind::Backward), 36);
  EXPECT_EQ(count(v.schedule, OpKind::BackwardWeight), 36);
  EXPECT_EQ(count(v.schedule, OpKind::Backward), 0);
}

// BaPipe (arXiv 2012.12544), 1F1B with doubled warm-up: (M+N-1)(F+B) + (N-1)2SR, here F=1, B=2,
// SR=0.1. It is what the first microbatch's way in and the last one's way out cost at least.
TEST(Search, FindsBaPipesOverlapAndProvesIt) {
  for (const auto& [actors, microbatches] : {std::pair{2, 8}, {4, 8}, {4, 16}}) {
    const SearchResult result =
        search(parse_costs("F=1,B=2,latency=0.1", actors),
               {.actors = actors, .microbatches = microbatches, .placement = StagePlacement::Loop});
    const double expected = (microbatches + actors - 1) * 3 + (actors - 1) * 0.2;
    EXPECT_EQ(result.makespan, from_ms(expected));
    EXPECT_EQ(result.bound, result.makespan);
    EXPECT_EQ(result.gap(), 0);
  }
}

std::vector<Problem> refusal(const CostTable& costs, const SearchOptions& options) {
  try {
    search(costs, options);
  } catch (const Error& error) {
    return error.problems();
  }
  return {};
}

TEST(Search, RefusesALimitThatNoScheduleMeets) {
  const CostTable costs = parse_costs("F=1,B=2,activation=100,weight=50", 4);
  auto problems =
      refusal(costs, {.actors = 2, .chunks = 2, .microbatches = 4, .bytes = {300, 299}});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].where, "memory limit, actor 1");
  EXPECT_EQ(problems[0].hint, "at least 300");
  EXPECT_TRUE(
      refusal(costs, {.actors = 2, .chunks = 2, .microbatches = 4, .bytes = {300}}).empty());
  problems = refusal(costs, {.actors = 2, .chunks = 2, .microbatches = 4, .in_flight = {0.9}});
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[1].where, "memory limit, actor 1");
  EXPECT_EQ(problems[1].hint, "at least 1");
}

TEST(Search, RefusesWhatItCannotPrice) {
  const CostTable costs = parse_costs("F=1,B=2", 4);
  EXPECT_EQ(refusal(costs, {.actors = 4, .microbatches = 4}).size(), 0u);
  EXPECT_GE(refusal(costs, {.actors = 4, .microbatches = 4, .split = true}).size(), 1u);
  EXPECT_GE(refusal(costs, {.actors = 3, .microbatches = 4}).size(), 1u);
  EXPECT_EQ(refusal(costs, {.actors = 0, .microbatches = 0, .budget = 0}).size(), 3u);
  EXPECT_EQ(refusal(costs, {.actors = 4, .microbatches = 1'000'000}).size(), 1u);
  EXPECT_EQ(refusal(costs, {.actors = 4, .microbatches = 4, .in_flight = {4, 4}}).size(), 1u);
  EXPECT_EQ(refusal(costs, {.actors = 4, .microbatches = 4, .bytes = {1}}).size(), 1u)
      << "nothing takes up bytes at these costs";
}

}  // namespace
}  // namespace penstock
