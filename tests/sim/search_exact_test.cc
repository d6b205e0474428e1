// The search against every order that there is, and against a published scheduler.
#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "penstock/check.h"
#include "penstock/metrics.h"
#include "penstock/search.h"
#include "penstock/simulate.h"
#include "random_schedules.h"
#include "search/exact.h"
#include "search/integer_programme.h"

namespace penstock {
namespace {

// What an actor may hold: by default counted in microbatches.
struct Memory {
  std::int32_t most = 1;
  std::int32_t activation = 1;
  std::int32_t left = 1;  // from I to W
};

// Every in-order schedule of one stage per actor: a list of op kinds for each actor.
class BruteForce {
 public:
  BruteForce(const CostTable& costs, std::int32_t microbatches, const Memory& memory)
      : costs_(costs), microbatches_(microbatches), memory_(memory) {}

  // `forms`: of each microbatch's backward, the same on all stages; 'B' or 'I'.
  Nanoseconds fastest(const std::string& forms) {
    forms_ = forms;
    lists_.clear();
    std::vector<Op> list;
    extend({}, list);
    choice_.assign(costs_.stages.size(), 0);
    least_ = std::numeric_limits<Nanoseconds>::max();
    choose(0);
    return least_;
  }

 private:
  // done: how many F, backwards and closed microbatches so far.
  void extend(std::array<std::int32_t, 3> done, std::vector<Op>& list) {
    const auto [forwards, backwards, closed] = done;
    if (closed == microbatches_) return lists_.push_back(list);
    const auto with = [&](OpKind kind, std::int32_t microbatch, std::int32_t f, std::int32_t b,
                          std::int32_t c) {
      list.push_back({kind, 0, microbatch, 0});
      extend({forwards + f, backwards + b, closed + c}, list);
      list.pop_back();
    };
    const std::int32_t held =
        memory_.activation * (forwards - backwards) + memory_.left * (backwards - closed);
    if (forwards < microbatches_ && held + memory_.activation <= memory_.most) {
      with(OpKind::Forward, forwards, 1, 0, 0);
    }
    if (backwards < forwards) {
      const bool whole = forms_[static_cast<std::size_t>(backwards)] == 'B';
      // Whole ones close in turn here, so what is split before must have closed.
      if (!whole) with(OpKind::BackwardInput, backwards, 0, 1, 0);
      if (whole && closed == backwards) with(OpKind::Backward, backwards, 0, 1, 1);
    }
    if (closed < backwards) with(OpKind::BackwardWeight, closed, 0, 0, 1);
  }

  void choose(std::size_t actor) {
    if (actor == choice_.size()) {
      least_ = std::min(least_, makespan());
      return;
    }
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      choice_[actor] = i;
      choose(actor + 1);
    }
  }

  // When ops end, by actor, kind of result and microbatch; -1: not yet.
  Nanoseconds makespan() {
    const std::size_t actors = choice_.size();
    std::vector<std::array<std::array<Nanoseconds, 4>, 2>> end(actors);
    for (auto& one : end) {
      for (auto& row : one) row.fill(-1);
    }
    std::vector<std::size_t> next(actors, 0);
    std::vector<Nanoseconds> lane(actors, 0);
    for (bool moves = true; moves;) {
      moves = false;
      for (std::size_t a = 0; a < actors; ++a) {
        const std::vector<Op>& list = lists_[choice_[a]];
        while (next[a] < list.size()) {
          Op op = list[next[a]];
          op.stage = static_cast<std::int32_t>(a);
          const auto m = static_cast<std::size_t>(op.microbatch);
          Nanoseconds arrival = 0;
          if (op.kind == OpKind::Forward && a > 0) {
            arrival = arrived(end[a - 1][0][m], a - 1);
          } else if (gives_input_gradient(op.kind) && a + 1 < actors) {
            arrival = arrived(end[a + 1][1][m], a);
          }
          if (arrival < 0) break;
          lane[a] = std::max(lane[a], arrival) + costs_.duration(op);
          if (op.kind != OpKind::BackwardWeight) {
            end[a][op.kind == OpKind::Forward ? 0 : 1][m] = lane[a];
          }
          ++next[a];
          moves = true;
        }
      }
    }
    for (std::size_t a = 0; a < actors; ++a) {
      if (next[a] < lists_[choice_[a]].size()) return std::numeric_limits<Nanoseconds>::max();
    }
    return *std::max_element(lane.begin(), lane.end());
  }

  Nanoseconds arrived(Nanoseconds end, std::size_t boundary) const {
    return end < 0 ? -1 : end + costs_.stages[boundary].message.latency;
  }

  const CostTable& costs_;
  const std::int32_t microbatches_;
  const Memory memory_;
  std::string forms_;
  std::vector<std::vector<Op>> lists_;  // all that an actor can run
  std::vector<std::size_t> choice_;     // by actor
  Nanoseconds least_ = 0;
};

CostTable uneven_costs(std::int32_t stages, std::mt19937_64& random) {
  const auto some = [&](int least, int most) {
    return Nanoseconds{least + static_cast<int>(random() % static_cast<unsigned>(most - least))} *
           10'000;
  };
  CostTable costs;
  const Nanoseconds latency = random() % 2 == 0 ? 0 : some(1, 40);
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    StageCosts one;
    for (auto& duration : one.op) duration = Duration{.base = some(30, 150)};
    one.op[1] = Duration{.base = one.op[2]->base + one.op[3]->base};
    one.message.latency = latency;
    costs.stages.push_back(std::move(one));
  }
  return costs;
}

void expect_the_fastest(bool split, int count, std::int32_t most_actors) {
  std::mt19937_64 random(split ? 1 : 2);
  for (int i = 0; i < count; ++i) {
    const auto actors =
        1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(most_actors));
    const auto microbatches = 1 + static_cast<std::int32_t>(random() % 3);
    const auto in_flight = 1 + static_cast<std::int32_t>(random() % 3);
    const CostTable costs = uneven_costs(actors, random);
    const SearchResult result = search(costs, {.actors = actors,
                                               .microbatches = microbatches,
                                               .placement = StagePlacement::Loop,
                                               .split = split,
                                               .in_flight = {static_cast<double>(in_flight)},
                                               .budget = 2000});
    BruteForce all(costs, microbatches, {.most = in_flight});
    const Nanoseconds fastest =
        all.fastest(std::string(static_cast<std::size_t>(microbatches), split ? 'I' : 'B'));
    ASSERT_EQ(result.makespan, fastest) << i;
    ASSERT_EQ(result.bound, fastest) << i;
  }
}

TEST(SearchExact, WholeBackwardsEqualBruteForce) {
  expect_the_fastest(false, 60, 3);
}

TEST(SearchExact, SplitBackwardsEqualBruteForce) {
  expect_the_fastest(true, 30, 2);
  expect_the_fastest(true, 8, 3);
}

// A limit in bytes, where I lets go of a part of the activation.
TEST(SearchExact, WhatInputGradientsLeaveEqualsBruteForce) {
  std::mt19937_64 random(4);
  int helped = 0;
  for (int i = 0; i < 30; ++i) {
    const auto microbatches = 2 + static_cast<std::int32_t>(random() % 2);
    Memory memory{.activation = 10, .left = static_cast<std::int32_t>(random() % 11)};
    memory.most = 10 + static_cast<std::int32_t>(random() % 21);
    CostTable costs = uneven_costs(2, random);
    for (StageCosts& stage : costs.stages) {
      stage.activation_bytes = memory.activation;
      stage.left_bytes = memory.left;
    }
    const SearchResult result = search(costs, {.actors = 2,
                                               .microbatches = microbatches,
                                               .placement = StagePlacement::Loop,
                                               .split = true,
                                               .bytes = {memory.most},
                                               .budget = 2000});
    const std::string forms(static_cast<std::size_t>(microbatches), 'I');
    const Nanoseconds fastest = BruteForce(costs, microbatches, memory).fastest(forms);
    ASSERT_EQ(result.makespan, fastest) << i;
    ASSERT_EQ(result.bound, fastest) << i;
    for (const ActorMetrics& actor : measure(simulate(lower(result.schedule), costs)).actors) {
      ASSERT_LE(actor.peak_bytes, memory.most) << i;
    }
    memory.left = memory.activation;
    helped += fastest < BruteForce(costs, microbatches, memory).fastest(forms) ? 1 : 0;
  }
  EXPECT_GE(helped, 5);
}

// A whole backward that takes less than its halves is worth its later gradient only sometimes.
TEST(SearchExact, FormsOfTheBackwardAreChosenOneByOne) {
  std::mt19937_64 random(3);
  int mixed = 0;
  for (int i = 0; i < 20; ++i) {
    CostTable costs = uneven_costs(2, random);
    for (StageCosts& stage : costs.stages) stage.op[1]->base = stage.op[1]->base * 93 / 100;
    BruteForce all(costs, 3, {.most = 3});
    Nanoseconds fastest = std::numeric_limits<Nanoseconds>::max();
    for (const char* forms : {"BBB", "III", "IIB", "BII", "IBB", "BBI", "IBI", "BIB"}) {
      fastest = std::min(fastest, all.fastest(forms));
    }
    const SearchResult result = search(costs, {.actors = 2,
                                               .microbatches = 3,
                                               .placement = StagePlacement::Loop,
                                               .in_flight = {3},
                                               .budget = 2000});
    ASSERT_LE(result.makespan, fastest) << i;
    ASSERT_LE(result.bound, result.makespan) << i;
    const auto count = [&](OpKind kind) {
      std::ptrdiff_t found = 0;
      for (const std::vector<Step>& steps : result.schedule.order) {
        found += std::count_if(steps.begin(), steps.end(),
                               [&](const Step& step) { return step.op.kind == kind; });
      }
      return found;
    };
    mixed += count(OpKind::Backward) > 0 && count(OpKind::BackwardWeight) > 0 ? 1 : 0;
  }
  EXPECT_GT(mixed, 0);
}

// DynaPipe permutes microbatches of different lengths; so does the search.
TEST(SearchExact, IsNotSlowerThanDynaPipesScheduler) {
  std::ifstream file(TEST_DATA "/simulation/dynapipe.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const auto& row : golden["rows"]) {
    const std::int32_t stages = row["stages"];
    const double forward =
        golden["layers"].get<double>() / stages * golden["layer_forward_ms"].get<double>();
    double sum = 0;
    for (const auto& draw : golden["multipliers"][row["std"].get<std::string>()]) {
      StageCosts stage{.message = {.bytes_per_s = 1e9, .microbatch_varies = true}};
      for (const int kind : {0, 1}) {
        stage.op[static_cast<std::size_t>(kind)] = Duration{.microbatch_varies = true};
        for (const double size : draw) {
          stage.op[static_cast<std::size_t>(kind)]->varied.push_back(
              {from_ms(forward * (1 + kind) * size)});
        }
      }
      for (const double size : draw) {
        stage.message.varied.push_back({from_ms(row["hop_ms"].get<double>() * size)});
      }
      const SearchResult result =
          search(uniform_costs(stages, stage), {.actors = stages,
                                                .microbatches = 16,
                                                .placement = StagePlacement::Loop,
                                                .budget = 3000});
      EXPECT_LE(result.bound, result.makespan);
      sum += to_ms(result.makespan) / 5;
    }
    EXPECT_LE(sum, row["permuted_ms"].get<double>()) << row;
  }
}

// What solve_exactly() proves holds for random schedules, and what it finds is legal.
TEST(SearchExact, NoScheduleIsFasterThanTheProgrammesBound) {
  int solved = 0;
  for (std::uint64_t seed = 0; solved < 12; ++seed) {
    const Schedule schedule = random_schedule(seed, Variety::Plain).schedule;
    const CostTable costs = random_costs(schedule, seed + 1, {});
    const Metrics metrics = measure(simulate(lower(schedule), costs));
    std::vector<double> in_flight;
    for (const ActorMetrics& actor : metrics.actors) in_flight.push_back(actor.peak_in_flight);
    const Instance instance(schedule.pipeline, costs, {}, in_flight, {});
    if (instance.nodes() > 24 || metrics.makespan == 0) continue;
    ++solved;
    const Exact exact =
        solve_exactly(instance, relax(instance, true), 0, metrics.makespan + 1000, 10);
    ASSERT_LE(exact.bound, metrics.makespan) << seed;
    if (!exact.order) continue;
    ASSERT_TRUE(check(schedule_of(instance, *exact.order, "exact")).empty()) << seed;
    ASSERT_TRUE(fits(instance, *exact.order)) << seed;
  }
}

// max x + 2y + 3z with 2x + 3y + 4z <= 6 over 0 and 1: z and x, 4.
TEST(IntegerProgramme, SolvesAKnapsack) {
  IntegerProgramme programme;
  const std::int32_t value = programme.add_continuous(-10, 0);  // minus what is packed
  const std::int32_t x = programme.add_binary();
  const std::int32_t y = programme.add_binary();
  const std::int32_t z = programme.add_binary();
  programme.add_row({{x, -2}, {y, -3}, {z, -4}}, -6);
  programme.add_row({{value, 1}, {x, 1}, {y, 2}, {z, 3}}, 0);
  testing::internal::CaptureStdout();
  const IntegerProgramme::Answer answer = programme.minimise(value, 1000);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "") << "reports go to standard output";
  EXPECT_FALSE(answer.infeasible);
  ASSERT_TRUE(answer.bound);
  EXPECT_NEAR(*answer.bound, -4, 1e-6);
  ASSERT_EQ(answer.solution.size(), 4u);
  EXPECT_NEAR(answer.solution[static_cast<std::size_t>(value)], -4, 1e-6);
  EXPECT_NEAR(answer.solution[static_cast<std::size_t>(y)], 0, 1e-6);
}

TEST(IntegerProgramme, SaysWhenThereIsNoSolution) {
  IntegerProgramme programme;
  const std::int32_t x = programme.add_binary();
  const std::int32_t y = programme.add_binary();
  programme.add_row({{x, 2}, {y, 2}}, 1);
  programme.add_row({{x, -2}, {y, -2}}, -1.5);
  EXPECT_TRUE(programme.minimise(x, 1000).infeasible);
}

}  // namespace
}  // namespace penstock
