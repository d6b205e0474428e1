#include <gtest/gtest.h>

#include "step_end.h"

namespace penstock {
namespace {

TEST(LearningRate, RisesOverWarmupThenFallsAlongACosine) {
  Optimizer o;
  o.lr = 1.0;
  o.min_lr = 0.1;
  o.warmup_steps = 4;
  EXPECT_DOUBLE_EQ(learning_rate(o, 0, 14), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(o, 3, 14), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 14), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(o, 9, 14), 0.55);  // half way
  EXPECT_DOUBLE_EQ(learning_rate(o, 14, 14), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(o, 99, 14), 0.1);
}

TEST(LearningRate, WarmupLongerThanTheRun) {
  Optimizer o;
  o.lr = 1.0;
  o.warmup_steps = 10;
  EXPECT_DOUBLE_EQ(learning_rate(o, 2, 3), 0.3);
}

}  // namespace
}  // namespace penstock
