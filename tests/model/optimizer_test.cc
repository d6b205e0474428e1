#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gradient_check.h"
#include "optimizer/adamw.h"
#include "optimizer/learning_rate.h"

namespace penstock::testing {
namespace {

std::vector<float> floats(std::size_t n, std::string_view name) {
  const auto values = normal_values(n, name);
  return {values.begin(), values.end()};
}

// The paper's formulas in double, three steps.
TEST(Adamw, FollowsThePaper) {
  constexpr std::size_t kValues = 37;
  for (const bool decayed : {false, true}) {
    std::vector<float> x = floats(kValues, "x"), m(kValues), v(kValues);
    std::vector<double> exact(x.begin(), x.end()), first(kValues), second(kValues);
    const Optimizer optimizer{.weight_decay = 0.1};
    for (int step = 0; step < 3; ++step) {
      const auto gradient = floats(kValues, "gradient" + std::to_string(step));
      adamw({.values = x,
             .gradients = gradient,
             .first_moment = m,
             .second_moment = v,
             .decayed = decayed},
            optimizer, {.step = step, .learning_rate = 0.01, .gradient_scale = 0.5});
      for (std::size_t i = 0; i < kValues; ++i) {
        const double g = 0.5 * static_cast<double>(gradient[i]);
        first[i] = 0.9 * first[i] + 0.1 * g;
        second[i] = 0.95 * second[i] + 0.05 * g * g;
        const double mean = first[i] / (1 - std::pow(0.9, step + 1));
        const double square = second[i] / (1 - std::pow(0.95, step + 1));
        exact[i] -= decayed ? 0.01 * 0.1 * exact[i] : 0;
        exact[i] -= 0.01 * mean / (std::sqrt(square) + 1e-8);
      }
    }
    for (std::size_t i = 0; i < kValues; ++i) {
      EXPECT_NEAR(exact[i], static_cast<double>(x[i]), 1e-6);
    }
  }
}

TEST(SquareSum, IsInDouble) {
  std::vector<float> values = floats(3'000'001, "values");
  values[5] = 1e4f;
  double expected = 0;
  for (const float each : values) {
    expected += static_cast<double>(each) * static_cast<double>(each);
  }
  EXPECT_NEAR(square_sum(values), expected, 1e-12 * expected);
  EXPECT_EQ(square_sum({}), 0);
}

TEST(LearningRate, WarmsUpAndFallsAlongACosine) {
  const Optimizer optimizer{.lr = 1.0, .min_lr = 0.1, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 0, 15), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 3, 15), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 4, 15), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 9, 15), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 14, 15), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(optimizer, 100, 15), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate({.lr = 2.0}, 0, 1), 2.0);
}

TEST(ClipScale, BoundsTheNorm) {
  EXPECT_EQ(clip_scale(0.5, 1), 1);
  EXPECT_EQ(clip_scale(100, 0), 1);
  EXPECT_NEAR(clip_scale(4, 1) * 4, 1, 1e-6);
}

}  // namespace
}  // namespace penstock::testing
