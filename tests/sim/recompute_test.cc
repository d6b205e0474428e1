// Recompute and updates inside the order: closed formulas, memory and weight versions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios.h"

namespace penstock {
namespace {

Timeline again(const char* name, const GenerateOptions& sizes, const std::string& costs) {
  const Program program = lowered(with_recompute(generate(name, sizes)));
  return simulate(program, parse_costs(costs, stages_of(program)));
}

// R needs its forward alone, so it runs while the gradient is still on its way: a hop back costs B.
TEST(Recompute, IsHiddenWhereAnActorWaits) {
  for (const char* name : {"gpipe", "1f1b", "eager_1f1b"}) {
    for (const int p : {1, 2, 3, 4, 8}) {
      for (const int m : {1, 2, 4, 8, 17}) {
        const Metrics metrics =
            measure(again(name, {.actors = p, .microbatches = m}, "F=1,B=2,R=0.75"));
        EXPECT_EQ(metrics.makespan, from_ms(3.75 * m + 3 * (p - 1))) << name << p << " " << m;
        for (const ActorMetrics& actor : metrics.actors) {
          EXPECT_EQ(actor.busy, from_ms(3.75 * m));
          EXPECT_EQ(actor.recompute, from_ms(0.75 * m));
        }
      }
    }
  }
}

TEST(Recompute, KeepsTheInputsOfItsStages) {
  const Timeline timeline = again("gpipe", {.actors = 2, .microbatches = 4},
                                  "F=1,B=2,R=1,activation=100,bytes=8,weight=7");
  const Metrics metrics = measure(timeline);
  EXPECT_EQ(metrics.actors[0].peak_bytes, 7 + 100) << "tokens cost nothing";
  EXPECT_EQ(metrics.actors[1].peak_bytes, 7 + 4 * 8 + 92);
  EXPECT_EQ(metrics.actors[1].peak_in_flight, 4) << "microbatches, however much they hold";
  EXPECT_EQ(memory(timeline)[1].back().bytes, 7);
}

TEST(Recompute, SelectivelyKeepsWhatTheCostsSay) {
  const Metrics metrics = measure(
      again("gpipe", {.actors = 1, .microbatches = 4}, "F=1,B=2,R=1,activation=100,kept=40"));
  EXPECT_EQ(metrics.actors[0].peak_bytes, 4 * 40 + 60);
  const Metrics all = measure(
      again("gpipe", {.actors = 1, .microbatches = 4}, "F=1,B=2,R=1,activation=100,kept=400"));
  EXPECT_EQ(all.actors[0].peak_bytes, 4 * 100) << "never more than there is";
}

TEST(Recompute, IsFreedWithTheWeightGradient) {
  const Schedule split = generate("zb_h1", {.actors = 1, .microbatches = 2});
  const Program program = lowered(with_recompute(split));
  const Timeline timeline =
      simulate(program, parse_costs("F=1,I=1,W=1,R=1,activation=10,kept=1", 1));
  EXPECT_EQ(measure(timeline).actors[0].peak_bytes, 10);
  EXPECT_EQ(memory(timeline)[0].back().bytes, 0);
}

TEST(Recompute, NeedsAPrice) {
  const Schedule schedule = with_recompute(generate("gpipe", {.actors = 2, .microbatches = 2}));
  const std::vector<Problem> problems = missing_costs(parse_costs("F=1,B=2", 2), schedule);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].what, "R of stages 0 to 1 has no duration, and the schedule runs it");
  EXPECT_EQ(problems[0].hint, "give R (milliseconds)");
}

// Where both halves of the backward compute the forward again, the split pays for it twice: B = 3,
// but I + W = 4 (F = 1). Then the smaller bubble of zb_h1 is worth it for few microbatches only.
TEST(Recompute, InBothHalvesMakesTheSplitCostMore) {
  const auto makespan = [](const char* name, int microbatches) {
    return measure(simulated(name, {.actors = 4, .microbatches = microbatches}, "F=1,B=3,I=2,W=2"))
        .makespan;
  };
  EXPECT_LT(makespan("zb_h1", 4), makespan("1f1b", 4));
  for (const int m : {8, 12, 16, 64}) EXPECT_GT(makespan("zb_h1", m), makespan("1f1b", m)) << m;
}

Timeline two_versions(int actors, int microbatches, int steps, const std::string& costs) {
  return simulated("pipedream_2bw",
                   {.actors = actors,
                    .microbatches = microbatches,
                    .option = {{"steps", std::to_string(steps)}}},
                   costs);
}

// No flush: the pipeline fills and drains once, and is full in between.
TEST(TwoVersions, HaveNoBubbleBetweenSteps) {
  for (const int p : {1, 2, 4, 8}) {
    for (const int m : {p, p + 1, 4 * p}) {
      for (const int steps : {1, 2, 3, 6}) {
        const Metrics metrics = measure(two_versions(p, m, steps, "F=1,B=2"));
        EXPECT_EQ(metrics.makespan, from_ms(3.0 * (steps * m + p - 1)));
        for (int r = 0; r < p; ++r) {
          const ActorMetrics& actor = metrics.actors[static_cast<std::size_t>(r)];
          EXPECT_EQ(actor.peak_in_flight, std::min(p - r, steps * m));
          EXPECT_EQ(actor.weight_versions, steps == 1 ? 1 : 2) << p << m << steps << r;
        }
      }
    }
  }
}

TEST(TwoVersions, UpdatesCostWhatTheySay) {
  const Timeline timeline = two_versions(1, 2, 3, "F=1,B=2,update=0.5");
  EXPECT_EQ(measure(timeline).makespan, from_ms(3 * 6 + 3 * 0.5));
  EXPECT_EQ(measure(timeline).actors[0].busy, measure(timeline).makespan);
}

TEST(WeightVersions, AreOneWithAFlushAndWithLocalUpdates) {
  for (const char* name : {"gpipe", "1f1b", "forward_only"}) {
    for (const ActorMetrics& actor :
         measure(simulated(name, {.actors = 4, .microbatches = 8}, "F=1,B=2,update=1")).actors) {
      EXPECT_EQ(actor.weight_versions, 1);
    }
  }
  const Timeline ppll = simulated(
      "local", {.actors = 4, .microbatches = 8, .option = {{"variant", "ppll"}}}, "F=1,B=2");
  for (const ActorMetrics& actor : measure(ppll).actors) EXPECT_EQ(actor.weight_versions, 1);
}

// PipeDream: an update after every microbatch; stage r keeps p - r versions (SOSP 2019).
TEST(WeightVersions, OfPipeDreamAreItsForwardsInFlight) {
  Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 8});
  for (std::int32_t actor = 0; actor < 4; ++actor) {
    std::vector<Step>& order = schedule.order[static_cast<std::size_t>(actor)];
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].op.kind != OpKind::Backward) continue;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   {{OpKind::Update, actor, order[i].op.microbatch, 0}});
    }
  }
  const Program program = lowered(schedule);
  const Metrics metrics = measure(simulate(program, parse_costs("F=1,B=2", 4)));
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(metrics.actors[r].weight_versions, r == 3 ? 1 : 4 - static_cast<int>(r)) << r;
  }
}

// fill + N period, with every stage's update inside.
TEST(LocalUpdates, ArePartOfThePeriod) {
  const Timeline timeline =
      simulated("local", {.actors = 4, .microbatches = 64, .option = {{"variant", "ppll"}}},
                "F=1,B=2.3,update=0.1");
  EXPECT_EQ(measure(timeline).makespan, from_ms(3 + 64 * 3.4));  // 220.6
}

}  // namespace
}  // namespace penstock
