#include "model/random.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/initial_values.h"
#include "tiny_models.h"

namespace penstock::testing {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers of Random123's kat_vectors.
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(NormalStream, IsStandardNormal) {
  const NormalStream stream(1, "transformer.wte.weight");
  constexpr int kPairs = 200'000;
  double sum = 0, square = 0, fourth = 0;
  for (int i = 0; i < kPairs; ++i) {
    for (const double x : stream.pair(static_cast<std::uint64_t>(i))) {
      sum += x;
      square += x * x;
      fourth += x * x * x * x;
    }
  }
  EXPECT_NEAR(sum / (2 * kPairs), 0, 0.01);
  EXPECT_NEAR(square / (2 * kPairs), 1, 0.01);
  EXPECT_NEAR(fourth / (2 * kPairs), 3, 0.1);
}

TEST(NormalStream, DependsOnSeedNameAndElement) {
  const auto first = NormalStream(1, "a").pair(0);
  EXPECT_EQ(first, NormalStream(1, "a").pair(0));
  EXPECT_NE(first, NormalStream(2, "a").pair(0));
  EXPECT_NE(first, NormalStream(1, "b").pair(0));
  EXPECT_NE(first, NormalStream(1, "a").pair(1));
}

double deviation(std::span<const float> values) {
  double square = 0;
  for (const float each : values) square += static_cast<double>(each) * static_cast<double>(each);
  return std::sqrt(square / static_cast<double>(values.size()));
}

TEST(InitialValues, FollowTransformers) {
  Model model = tiny_gpt2(8);
  model.hidden = 96;
  for (const ModelTensor& tensor : model_tensors(model)) {
    std::vector<float> values(static_cast<std::size_t>(tensor.size()), NAN);
    fill_initial(model, tensor, 1, values);
    if (tensor.name.ends_with("bias")) {
      EXPECT_EQ(deviation(values), 0) << tensor.name;
    } else if (tensor.shape.size() == 1) {
      EXPECT_EQ(values, std::vector<float>(values.size(), 1.0f)) << tensor.name;
    } else if (tensor.name.ends_with("c_proj.weight")) {
      EXPECT_NEAR(deviation(values), 0.02 / 4, 0.0006) << tensor.name;
    } else {
      EXPECT_NEAR(deviation(values), 0.02, 0.0025) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace penstock::testing
