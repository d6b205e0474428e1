// File: gradient_check.h. Analytic gradients against differences of the loss, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace penstock::testing {

inline std::vector<double> normal_values(std::size_t n, std::string_view name, double scale = 1) {
  const NormalStream stream(7, name);
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = scale * stream.pair(i / 2)[i % 2];
  return values;
}

// Compares `gradient` with the loss's central differences of fourth order at every `stride`-th of
// `values`. The error is relative to the largest gradient of the tensor: what a wrong formula
// changes, but not what rounding does to a value that happens to be nearly zero.
inline void expect_gradient(const std::string& name, std::span<double> values,
                            std::span<const double> gradient, const std::function<double()>& loss,
                            std::size_t stride = 1) {
  ASSERT_EQ(values.size(), gradient.size()) << name;
  double largest = 1e-3;
  for (const double each : gradient) largest = std::max(largest, std::abs(each));
  constexpr double kStep = 1e-3;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    const double value = values[i];
    const auto at = [&](double offset) {
      values[i] = value + offset;
      return loss();
    };
    const double near = at(kStep) - at(-kStep);
    const double far = at(2 * kStep) - at(-2 * kStep);
    values[i] = value;
    const double difference = (8 * near - far) / (12 * kStep);
    ASSERT_NEAR(gradient[i], difference, 1e-6 * largest) << name << ", element " << i;
  }
}

}  // namespace penstock::testing
