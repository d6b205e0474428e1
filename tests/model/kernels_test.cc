// The element-wise kernels against libm and plain double loops.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "gradient_check.h"
#include "model/kernels/activations.h"
#include "model/kernels/exponential.h"
#include "model/kernels/norms.h"
#include "model/kernels/rotary.h"
#include "model/kernels/softmax.h"
#include "model/kernels/sums.h"

namespace penstock::testing {
namespace {

TEST(Exponential, IsWithinItsStatedError) {
  double worst = 0;
  for (double x = -87; x <= 88; x += 1.37e-4) {
    const double exact = std::exp(static_cast<double>(static_cast<float>(x)));
    const double error = std::abs(exponential(static_cast<float>(x)) - exact) / exact;
    worst = std::max(worst, error);
  }
  EXPECT_LT(worst, 1e-7);
}

TEST(Exponential, IsMonotoneAtItsEndsAndKeepsNan) {
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-1e30f), exponential(-87.0f));
  EXPECT_LT(exponential(-87.0f), 2e-38f);
  EXPECT_EQ(exponential(1e30f), exponential(88.0f));
  EXPECT_TRUE(std::isfinite(exponential(88.0f)));
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

TEST(LaneSum, AddsEveryTermOnce) {
  for (int n = 0; n < 70; ++n) {
    EXPECT_EQ(lane_sum<double>(n, [](int i) { return static_cast<double>(i); }), n * (n - 1) / 2);
    std::vector<double> values(static_cast<std::size_t>(n) + 1, -3.0);
    values[static_cast<std::size_t>(n)] = 4;
    EXPECT_EQ(lane_max(n + 1, values.data()), 4);
  }
}

// Every length up to several vectors, so that remainders are seen.
TEST(Activations, InFloatAreThoseInDouble) {
  for (const Activation kind : {Activation::GeluTanh, Activation::Gelu, Activation::Silu}) {
    for (const int n : {1, 7, 16, 33, 100}) {
      const auto exact = normal_values(static_cast<std::size_t>(2 * n), "x", 4);
      const std::vector<float> rounded(exact.begin(), exact.end());
      std::vector<double> y(static_cast<std::size_t>(n)), dx(y.size());
      std::vector<float> y_float(y.size()), dx_float(y.size());
      const std::vector<double> dy(y.size(), 1.0);
      const std::vector<float> dy_float(y.size(), 1.0f);
      activate(kind, Matrix<const double>(exact.data(), 1, n), Matrix<double>(y.data(), 1, n));
      activate(kind, Matrix<const float>(rounded.data(), 1, n),
               Matrix<float>(y_float.data(), 1, n));
      activate_backward(kind, Matrix<const double>(exact.data(), 1, n),
                        Matrix<const double>(dy.data(), 1, n), Matrix<double>(dx.data(), 1, n));
      activate_backward(kind, Matrix<const float>(rounded.data(), 1, n),
                        Matrix<const float>(dy_float.data(), 1, n),
                        Matrix<float>(dx_float.data(), 1, n));
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], static_cast<double>(y_float[i]), 2e-6 * (1 + std::abs(exact[i])));
        EXPECT_NEAR(dx[i], static_cast<double>(dx_float[i]), 4e-6);
      }
    }
  }
}

TEST(Activations, AreTheirDefinitions) {
  const auto x = normal_values(40, "definition", 3);
  std::vector<double> y(x.size());
  const Matrix<const double> in(x.data(), 1, 40);
  activate(Activation::GeluTanh, in, Matrix<double>(y.data(), 1, 40));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double inner = std::sqrt(2 / M_PI) * (x[i] + 0.044715 * std::pow(x[i], 3));
    EXPECT_NEAR(y[i], 0.5 * x[i] * (1 + std::tanh(inner)), 1e-14);
  }
  activate(Activation::Gelu, in, Matrix<double>(y.data(), 1, 40));
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], 0.5 * x[i] * std::erfc(-x[i] / std::sqrt(2)), 1e-14);
  }
  activate(Activation::Silu, in, Matrix<double>(y.data(), 1, 40));
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], x[i] / (1 + std::exp(-x[i])), 1e-14);
  }
}

TEST(CausalSoftmax, RowsAreDistributionsOverThePast) {
  constexpr int kTokens = 37;
  std::vector<float> scores;
  for (const double each : normal_values(kTokens * kTokens, "scores", 5)) {
    scores.push_back(static_cast<float>(each));
  }
  const Matrix<float> p(scores.data(), kTokens, kTokens);
  causal_softmax(p);
  for (int r = 0; r < kTokens; ++r) {
    double sum = 0;
    for (int i = 0; i < kTokens; ++i) {
      EXPECT_TRUE(i <= r || p.row(r)[i] == 0);
      sum += static_cast<double>(p.row(r)[i]);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  EXPECT_EQ(p.row(0)[0], 1);
}

TEST(CrossEntropy, IsMinusTheLogProbabilityInDouble) {
  constexpr int kVocabulary = 50;
  const auto exact = normal_values(3 * kVocabulary, "logits", 6);
  std::vector<float> logits(exact.begin(), exact.end());
  const std::vector<std::int32_t> targets{0, 49, 17};
  double expected = 0;
  for (int r = 0; r < 3; ++r) {
    double sum = 0;
    for (int i = 0; i < kVocabulary; ++i) sum += std::exp(exact[std::size_t(r * kVocabulary + i)]);
    expected += std::log(sum) - exact[std::size_t(r * kVocabulary + targets[std::size_t(r)])];
  }
  const Matrix<float> view(logits.data(), 3, kVocabulary);
  EXPECT_NEAR(cross_entropy(view, targets, 0.25f), expected, 1e-5);
  for (int r = 0; r < 3; ++r) {
    double sum = 0;
    for (int i = 0; i < kVocabulary; ++i) sum += static_cast<double>(view.row(r)[i]);
    EXPECT_NEAR(sum, 0, 1e-6);
    EXPECT_LT(view.row(r)[targets[std::size_t(r)]], 0);
  }
}

TEST(CrossEntropy, OfNanIsNan) {
  std::vector<float> logits(20, 0.0f);
  logits[13] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::int32_t> targets{2};
  EXPECT_TRUE(std::isnan(cross_entropy(Matrix<float>(logits.data(), 1, 20), targets, 1)));
}

TEST(Rotary, TurnsPairsHalfAHeadApartAndBack) {
  // Two positions, heads of 4: angles 0 and (1, 0.5).
  const std::vector<double> table{
      1, 1, 0, 0, std::cos(1.0), std::cos(0.5), std::sin(1.0), std::sin(0.5)};
  std::vector<double> x{1, 2, 3, 4, 1, 2, 3, 4};
  const Matrix<double> view(x.data(), 2, 4);
  rotate(view, 1, 2, table.data(), Turn::Forward);
  EXPECT_EQ(std::vector<double>(x.begin(), x.begin() + 4), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(x[4], std::cos(1.0) - 3 * std::sin(1.0));
  EXPECT_DOUBLE_EQ(x[5], 2 * std::cos(0.5) - 4 * std::sin(0.5));
  EXPECT_DOUBLE_EQ(x[6], 3 * std::cos(1.0) + std::sin(1.0));
  rotate(view, 1, 2, table.data(), Turn::Back);
  EXPECT_NEAR(x[4], 1, 1e-15);
  EXPECT_NEAR(x[7], 4, 1e-15);
}

}  // namespace
}  // namespace penstock::testing
