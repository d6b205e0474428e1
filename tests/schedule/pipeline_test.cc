#include "penstock/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> actors_of(const Pipeline& pipeline) {
  std::vector<std::int32_t> actors;
  for (const Stage& stage : pipeline.stages) actors.push_back(stage.actor);
  return actors;
}

TEST(Placement, LoopStartsOverWithEachChunk) {
  EXPECT_THAT(actors_of(loop_pipeline(3, 2, 1)), ElementsAre(0, 1, 2, 0, 1, 2));
}

// torch's registry__ScheduleVShaped: stages 0 and 3 on rank 0, 1 and 2 on rank 1.
TEST(Placement, VTurnsBackAtTheLastActor) {
  EXPECT_THAT(actors_of(v_pipeline(2, 2, 1)), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(actors_of(v_pipeline(3, 4, 1)), ElementsAre(0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0));
  EXPECT_EQ(v_pipeline(4, 1, 3), loop_pipeline(4, 1, 3));
}

TEST(Placement, EveryStageHoldsItsOwnPartOnOneRoute) {
  for (const auto& pipeline : {loop_pipeline(3, 3, 5), v_pipeline(3, 3, 5)}) {
    ASSERT_EQ(pipeline.routes.size(), 1u);
    ASSERT_EQ(pipeline.stages.size(), 9u);
    EXPECT_EQ(pipeline.microbatches.size(), 5u);
    for (std::int32_t stage = 0; stage < 9; ++stage) {
      EXPECT_EQ(pipeline.stages[static_cast<std::size_t>(stage)].part, stage);
      EXPECT_EQ(pipeline.routes[0][static_cast<std::size_t>(stage)], stage);
    }
  }
}

}  // namespace
}  // namespace penstock
