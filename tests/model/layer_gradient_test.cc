// Gradients of every layer on its own, in double. The loss is a fixed random sum of the outputs.
#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gradient_check.h"
#include "model/attention.h"
#include "model/embedding.h"
#include "model/head.h"
#include "model/kernels/activations.h"
#include "model/linear_group.h"
#include "model/norm_layer.h"

namespace penstock::testing {
namespace {

using Values = std::vector<double>;

Matrix<double> view(Values& values, int rows) {
  return {values.data(), rows, static_cast<int>(values.size()) / rows};
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

constexpr int kRows = 6;

// A tensor with its gradient.
struct Tensor {
  explicit Tensor(std::size_t n, std::string_view name)
      : value(normal_values(n, name)), gradient(n, 0.0) {}
  Parameter<double> view() { return {&values, &gradients, 0, 0}; }
  Values value;
  Values gradient;
  const double* values = value.data();
  double* gradients = gradient.data();
};

class LinearGradient : public ::testing::TestWithParam<WeightLayout> {};

TEST_P(LinearGradient, OfInputWeightAndBias) {
  constexpr int kIn = 5, kOut = 7;
  Tensor weight(kIn * kOut, "weight");
  Tensor bias(kOut, "bias");
  const Linear<double> linear{
      .in = kIn, .out = kOut, .layout = GetParam(), .weight = weight.view(), .bias = bias.view()};
  Values x = normal_values(kRows * kIn, "x");
  Values y(kRows * kOut), dx(x.size());
  Values dy = normal_values(y.size(), "dy");
  const auto loss = [&] {
    linear.forward(view(x, kRows), {}, view(y, kRows));
    return dot(y, dy);
  };
  linear.backward_input(view(dy, kRows), view(dx, kRows), Accumulate::No);
  linear.backward_weight(view(x, kRows), view(dy, kRows));
  expect_gradient("x", x, dx, loss);
  expect_gradient("weight", weight.value, weight.gradient, loss);
  expect_gradient("bias", bias.value, bias.gradient, loss);
}

TEST_P(LinearGradient, AccumulatesOverMicrobatches) {
  Tensor weight(6, "weight");
  const Linear<double> linear{
      .in = 2, .out = 3, .layout = GetParam(), .weight = weight.view(), .bias = {}};
  Values x = normal_values(kRows * 2, "x");
  Values dy = normal_values(kRows * 3, "dy");
  linear.backward_weight(view(x, kRows), view(dy, kRows));
  const Values once = weight.gradient;
  linear.backward_weight(view(x, kRows), view(dy, kRows));
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_DOUBLE_EQ(weight.gradient[i], 2 * once[i]);
}

INSTANTIATE_TEST_SUITE_P(Layouts, LinearGradient,
                         ::testing::Values(WeightLayout::InOut, WeightLayout::OutIn));

TEST(LinearLayer, LayoutsAreHuggingFaces) {
  // x = (1, 10); W as [in, out] = ((1, 2, 3), (4, 5, 6)).
  const Values x{1, 10};
  const Values in_out{1, 2, 3, 4, 5, 6};
  const Values out_in{1, 4, 2, 5, 3, 6};
  for (const auto& [layout, weight] :
       {std::pair(WeightLayout::InOut, in_out), std::pair(WeightLayout::OutIn, out_in)}) {
    const double* const values = weight.data();
    const Linear<double> linear{
        .in = 2, .out = 3, .layout = layout, .weight = {&values, nullptr, 0, 0}, .bias = {}};
    Values y(3);
    linear.forward(Matrix<const double>(x.data(), 1, 2), {}, Matrix<double>(y.data(), 1, 3));
    EXPECT_EQ(y, (Values{41, 52, 63}));
  }
}

class NormGradient : public ::testing::TestWithParam<Norm> {};

TEST_P(NormGradient, OfInputAndWeights) {
  constexpr int kWidth = 21;
  Tensor weight(kWidth, "weight");
  Tensor bias(kWidth, "bias");
  const bool has_bias = GetParam() == Norm::LayerNorm;
  const NormLayer<double> norm{.kind = GetParam(),
                               .epsilon = 0.1,
                               .weight = weight.view(),
                               .bias = has_bias ? bias.view() : Parameter<double>()};
  Values x = normal_values(kRows * kWidth, "x");
  Values y(x.size()), dx(x.size()), statistics(2 * kRows);
  Values dy = normal_values(y.size(), "dy");
  Values around = normal_values(x.size(), "residual");
  const auto loss = [&] {
    norm.forward(view(x, kRows), view(y, kRows), statistics.data());
    return dot(y, dy) + dot(x, around);
  };
  loss();
  norm.backward_input(view(x, kRows), statistics.data(), view(dy, kRows), view(around, kRows),
                      view(dx, kRows));
  norm.backward_weight(view(x, kRows), statistics.data(), view(dy, kRows));
  expect_gradient("x", x, dx, loss);
  expect_gradient("weight", weight.value, weight.gradient, loss);
  if (has_bias) expect_gradient("bias", bias.value, bias.gradient, loss);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NormGradient, ::testing::Values(Norm::LayerNorm, Norm::RmsNorm));

class AttentionGradient : public ::testing::TestWithParam<int> {};

TEST_P(AttentionGradient, OfQueriesKeysAndValues) {
  const Attention<double> attention{.heads = 4, .kv_heads = GetParam(), .head_size = 3};
  const TokenSlice slice{.sequences = 2, .first = 0, .tokens = kRows / 2};
  Values qkv = normal_values(static_cast<std::size_t>(kRows * attention.qkv_columns()), "qkv");
  Values y(kRows * 12), dqkv(qkv.size()), scratch(9);
  Values probabilities(attention.probability_values(slice));
  Values dy = normal_values(y.size(), "dy");
  const auto loss = [&] {
    attention.forward(slice, {}, view(qkv, kRows), probabilities.data(), view(y, kRows));
    return dot(y, dy);
  };
  loss();
  attention.backward_input(slice, true, {}, view(qkv, kRows), probabilities.data(), view(dy, kRows),
                           scratch.data(), view(dqkv, kRows));
  expect_gradient("qkv", qkv, dqkv, loss);
}

// Two sequences of five tokens in slices: the cache forward, sums over slices backward.
class SlicedAttention {
 public:
  SlicedAttention(int kv_heads, const std::vector<int>& slice_tokens)
      : attention_{.heads = 4, .kv_heads = kv_heads, .head_size = 3} {
    const Values qkv =
        normal_values(static_cast<std::size_t>(2 * 5 * attention_.qkv_columns()), "qkv");
    const Values dy = normal_values(2 * 5 * 12, "dy");
    TokenSlice slice{.sequences = 2};
    for (const int tokens : slice_tokens) {
      slice = {.sequences = 2, .first = slice.end(), .tokens = tokens};
      Piece& piece = pieces_.emplace_back();
      piece.slice = slice;
      piece.qkv = cut(qkv, slice);
      piece.dy = cut(dy, slice);
      piece.y.resize(piece.dy.size());
      piece.dqkv.assign(piece.qkv.size(), std::nan(""));  // the first to write must not add
      piece.probabilities.resize(attention_.probability_values(slice));
    }
  }

  double loss() {
    double sum = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& piece = pieces_[i];
      attention_.forward(piece.slice, earlier(i), rows(piece, piece.qkv),
                         piece.probabilities.data(), rows(piece, piece.y));
      sum += dot(piece.y, piece.dy);
    }
    return sum;
  }

  void backward() {
    for (std::size_t i = pieces_.size(); i-- > 0;) {
      Piece& piece = pieces_[i];
      Values scratch(attention_.score_values(piece.slice));
      attention_.backward_input(piece.slice, i + 1 == pieces_.size(), earlier(i),
                                rows(piece, piece.qkv), piece.probabilities.data(),
                                rows(piece, piece.dy), scratch.data(), rows(piece, piece.dqkv));
    }
  }

  void expect_gradients() {
    for (Piece& piece : pieces_) {
      expect_gradient("qkv from token " + std::to_string(piece.slice.first), piece.qkv, piece.dqkv,
                      [&] { return loss(); });
    }
  }

 private:
  struct Piece {
    TokenSlice slice;
    Values qkv, dqkv, y, dy, probabilities;
  };

  static Matrix<double> rows(const Piece& piece, Values& values) {
    return view(values, piece.slice.rows());
  }

  // The slice's rows of both sequences.
  static Values cut(const Values& whole, const TokenSlice& slice) {
    const auto columns = whole.size() / 10;
    Values part;
    for (int sequence = 0; sequence < 2; ++sequence) {
      const auto from =
          whole.begin() + (5 * sequence + slice.first) * static_cast<std::ptrdiff_t>(columns);
      part.insert(part.end(), from, from + slice.tokens * static_cast<std::ptrdiff_t>(columns));
    }
    return part;
  }

  EarlierSlices<double> earlier(std::size_t count) {
    qkv_.clear();
    dqkv_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      qkv_.push_back(rows(pieces_[i], pieces_[i].qkv));
      dqkv_.push_back(rows(pieces_[i], pieces_[i].dqkv));
    }
    return {.qkv = qkv_, .dqkv = dqkv_};
  }

  Attention<double> attention_;
  std::vector<Piece> pieces_;
  std::vector<Matrix<const double>> qkv_;
  std::vector<Matrix<double>> dqkv_;
};

TEST_P(AttentionGradient, OverTokenSlices) {
  const double whole = SlicedAttention(GetParam(), {5}).loss();
  for (const std::vector<int>& slices :
       {std::vector<int>{5}, {2, 3}, {4, 1}, {1, 3, 1}, {1, 1, 1, 1, 1}}) {
    SlicedAttention sliced(GetParam(), slices);
    EXPECT_NEAR(sliced.loss(), whole, 1e-12 * std::abs(whole));
    sliced.backward();
    sliced.expect_gradients();
  }
}

INSTANTIATE_TEST_SUITE_P(KvHeads, AttentionGradient, ::testing::Values(1, 2, 4));

class ActivationGradient : public ::testing::TestWithParam<Activation> {};

TEST_P(ActivationGradient, PlainAndGated) {
  constexpr int kWidth = 9;
  Values x = normal_values(kRows * 2 * kWidth, "x", 2);
  Values y(kRows * kWidth), dx(x.size());
  Values dy = normal_values(y.size(), "dy");
  activate_gated_backward(GetParam(), view(x, kRows), view(dy, kRows), view(dx, kRows));
  expect_gradient("gated", x, dx, [&] {
    activate_gated(GetParam(), view(x, kRows), view(y, kRows));
    return dot(y, dy);
  });
  x.resize(y.size());
  dx.resize(y.size());
  activate_backward(GetParam(), view(x, kRows), view(dy, kRows), view(dx, kRows));
  expect_gradient("plain", x, dx, [&] {
    activate(GetParam(), view(x, kRows), view(y, kRows));
    return dot(y, dy);
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, ActivationGradient,
                         ::testing::Values(Activation::GeluTanh, Activation::Gelu,
                                           Activation::Silu));

TEST(EmbeddingGradient, OfTokensAndPositions) {
  constexpr int kWidth = 4;
  Tensor token(5 * kWidth, "token");
  Tensor position(5 * kWidth, "position");
  const Embedding<double> embedding{.token = token.view(), .position = position.view()};
  const TokenSlice slice{.sequences = 2, .first = 2, .tokens = 3};
  const std::vector<std::int32_t> ids{4, 0, 4, 4, 2, 0};
  Values y(ids.size() * kWidth);
  Values dy = normal_values(y.size(), "dy");
  embedding.backward_weight(slice, ids, view(dy, kRows));
  const auto loss = [&] {
    embedding.forward(slice, ids, view(y, kRows));
    return dot(y, dy);
  };
  expect_gradient("token", token.value, token.gradient, loss);
  expect_gradient("position", position.value, position.gradient, loss);
}

TEST(HeadGradient, OfInputNormAndWeight) {
  constexpr int kWidth = 6, kVocabulary = 11;
  Tensor norm(kWidth, "norm");
  Tensor weight(kWidth * kVocabulary, "weight");
  const Head<double> head{
      .norm = {.kind = Norm::RmsNorm, .epsilon = 1e-5, .weight = norm.view(), .bias = {}},
      .linear = {.in = kWidth,
                 .out = kVocabulary,
                 .layout = WeightLayout::OutIn,
                 .weight = weight.view(),
                 .bias = {}}};
  Values x = normal_values(kRows * kWidth, "x");
  Values dx(x.size());
  const std::vector<std::int32_t> targets{0, 10, 3, 3, 7, 1};
  Carver<double> sizes;
  head.carve_kept(sizes, kRows);
  head.carve_gradients(sizes, kRows);
  Values buffer(sizes.taken());
  Carver<double> carver(buffer.data());
  const auto kept = head.carve_kept(carver, kRows);
  const auto gradients = head.carve_gradients(carver, kRows);
  const auto loss = [&] { return head.forward(view(x, kRows), targets, 1.0, kept); };
  loss();
  head.backward_input(view(x, kRows), kept, gradients, view(dx, kRows));
  head.backward_weight(view(x, kRows), kept, gradients);
  const Values dnorm = norm.gradient;
  const Values dweight = weight.gradient;
  expect_gradient("x", x, dx, loss);
  expect_gradient("norm", norm.value, dnorm, loss);
  expect_gradient("weight", weight.value, dweight, loss);
}

}  // namespace
}  // namespace penstock::testing
