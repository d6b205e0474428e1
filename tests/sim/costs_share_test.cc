#include <gtest/gtest.h>

#include "penstock/generate.h"
#include "penstock/metrics.h"
#include "penstock/program.h"
#include "penstock/simulate.h"

namespace penstock {
namespace {

CostTable whole(std::int32_t actors) {
  CostTable costs = parse_costs("F=12,B=24,bytes=100,activation=60,weight=120,update=6", actors);
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    // Actors differ, so that a stage must get its own actor's.
    costs.stages[static_cast<std::size_t>(actor)].op[0]->base += from_ms(12 * actor);
  }
  return costs;
}

TEST(ShareCosts, AChunkTakesItsPartOfItsActor) {
  const Schedule schedule =
      generate("interleaved_1f1b", {.actors = 2, .chunks = 3, .microbatches = 4});
  const CostTable costs = share_costs(whole(2), schedule.pipeline);
  ASSERT_EQ(costs.stages.size(), 6u);
  EXPECT_EQ(costs.duration({OpKind::Forward, 2, 0, 0}), from_ms(4));  // actor 0
  EXPECT_EQ(costs.duration({OpKind::Forward, 5, 3, 0}), from_ms(8));  // actor 1
  EXPECT_EQ(costs.duration({OpKind::Backward, 5, 3, 0}), from_ms(8));
  EXPECT_EQ(costs.stages[4].activation_bytes, 20);
  EXPECT_EQ(costs.stages[4].weight_bytes, 40);
  EXPECT_EQ(costs.stages[4].update, from_ms(2));
  EXPECT_EQ(costs.stages[4].message.bytes, 100);
}

TEST(ShareCosts, ASliceTakesItsShareOfTheTokens) {
  Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 2});
  for (Microbatch& microbatch : schedule.pipeline.microbatches) microbatch.slice_tokens = {1, 3};
  const CostTable costs = share_costs(whole(2), schedule.pipeline);
  EXPECT_EQ(costs.duration({OpKind::Forward, 0, 1, 0}), from_ms(3));
  EXPECT_EQ(costs.duration({OpKind::Forward, 0, 1, 1}), from_ms(9));
  EXPECT_EQ(costs.stages[0].message.bytes_of(1, 0), 25);
  EXPECT_EQ(costs.stages[0].message.bytes_of(1, 1), 75);
}

TEST(ShareCosts, SlicesOfDifferentNumbersShareTimeAndBytes) {
  Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 2});
  schedule.pipeline.microbatches[0].slice_tokens = {1, 3};
  const CostTable costs = share_costs(whole(2), schedule.pipeline);
  EXPECT_EQ(costs.duration({OpKind::Forward, 0, 0, 1}), from_ms(9));
  EXPECT_EQ(costs.duration({OpKind::Forward, 0, 1, 0}), from_ms(12));
  EXPECT_EQ(costs.stages[0].message.bytes_of(0, 1), 75);
  EXPECT_EQ(costs.stages[0].message.bytes_of(1, 0), 100);
  EXPECT_TRUE(missing_costs(costs, schedule).empty());
}

TEST(ShareCosts, WhatAnInputGradientLeavesIsSharedAsTheActivation) {
  CostTable by_actor = whole(2);
  for (StageCosts& stage : by_actor.stages) stage.left_bytes = 30;
  const Schedule schedule =
      generate("interleaved_1f1b", {.actors = 2, .chunks = 3, .microbatches = 4});
  for (const StageCosts& stage : share_costs(by_actor, schedule.pipeline).stages) {
    EXPECT_EQ(stage.left_bytes, 10);
  }
  EXPECT_FALSE(share_costs(whole(2), schedule.pipeline).stages[0].left_bytes.has_value());
}

TEST(ShareCosts, TwoRoutesAreNotChunks) {
  Schedule schedule;
  schedule.pipeline = {.actors = 2,
                       .stages = {{0, 0}, {1, 1}, {1, 0}, {0, 1}},
                       .routes = {{0, 1}, {2, 3}},
                       .microbatches = {{.route = 0}, {.route = 1}}};
  EXPECT_EQ(share_costs(whole(2), schedule.pipeline).duration({OpKind::Forward, 0, 0, 0}),
            from_ms(12));
}

// Whatever the chunks, every actor has the same work, so that only the bubble tells them apart.
TEST(ShareCosts, KeepsTheWork) {
  const CostTable costs = parse_costs("F=12,B=24", 4);
  for (const std::int32_t chunks : {1, 2, 3, 4}) {
    const Schedule schedule =
        generate("looped_bfs", {.actors = 4, .chunks = chunks, .microbatches = 8});
    const Metrics metrics =
        measure(simulate(lower(schedule), share_costs(costs, schedule.pipeline)));
    for (const ActorMetrics& actor : metrics.actors) EXPECT_EQ(actor.busy, from_ms(8 * 36));
    EXPECT_EQ(metrics.makespan, from_ms(8 * 36 + 3 * 36.0 / chunks));
  }
}

}  // namespace
}  // namespace penstock
