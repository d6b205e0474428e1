// Gradients of whole models, every tensor, in double.
#include <gtest/gtest.h>

#include "tiny_models.h"
#include "whole_model.h"

namespace penstock::testing {
namespace {

class ModelGradient : public ::testing::TestWithParam<NamedModel> {};

TEST_P(ModelGradient, IsTheSlopeOfTheLoss) {
  WholeModel<double> whole(GetParam().model, 2, 5);
  whole.loss();
  whole.backward();
  for (const PartTensor& tensor : whole.parameters().tensors()) {
    expect_gradient(
        tensor.info.name, whole.parameters().values(tensor), whole.parameters().gradients(tensor),
        [&] { return whole.loss(); }, 7);
  }
}

// Positions, the cache and the sums over slices, through every layer.
TEST_P(ModelGradient, OfTokenSlicesIsThatOfWholeSequences) {
  WholeModel<double> whole(GetParam().model, 2, 7);
  const double loss = whole.loss();
  whole.backward();
  for (const std::vector<int>& slices : {std::vector<int>{3, 4}, {5, 1, 1}}) {
    WholeModel<double> sliced(GetParam().model, 2, 7, slices);
    EXPECT_NEAR(sliced.loss(), loss, 1e-12 * loss);
    sliced.backward();
    for (const PartTensor& tensor : whole.parameters().tensors()) {
      const auto wanted = whole.parameters().gradients(tensor);
      const auto got = sliced.parameters().gradients(tensor);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(wanted[i], got[i], 1e-12) << tensor.info.name << ", element " << i;
      }
    }
  }
}

TEST_P(ModelGradient, OverTokenSlicesIsTheSlopeOfTheLoss) {
  WholeModel<double> sliced(GetParam().model, 2, 5, {2, 2, 1});
  sliced.loss();
  sliced.backward();
  for (const PartTensor& tensor : sliced.parameters().tensors()) {
    expect_gradient(
        tensor.info.name, sliced.parameters().values(tensor), sliced.parameters().gradients(tensor),
        [&] { return sliced.loss(); }, 11);
  }
}

// Each auxiliary head of local learning, and what is below it.
TEST_P(ModelGradient, OfALocalHeadIsTheSlopeOfItsLoss) {
  for (const AuxHead kind : kAuxHeads) {
    SCOPED_TRACE(name(kind));
    WholeModel<double> part(GetParam().model, 2, 5, {}, kind);
    const double loss = part.loss();
    EXPECT_GT(loss, 1);
    part.backward();
    int of_head = 0;
    for (const PartTensor& tensor : part.parameters().tensors()) {
      of_head += tensor.info.name.starts_with("aux.2.");
      expect_gradient(
          tensor.info.name, part.parameters().values(tensor), part.parameters().gradients(tensor),
          [&] { return part.loss(); }, 7);
    }
    EXPECT_GE(of_head, 2);
  }
}

TEST_P(ModelGradient, InFloatIsNearTheOneInDouble) {
  WholeModel<double> exact(GetParam().model, 2, 5);
  WholeModel<float> rounded(GetParam().model, 2, 5);
  EXPECT_NEAR(exact.loss(), rounded.loss(), 2e-6 * exact.loss());
  exact.backward();
  rounded.backward();
  for (const PartTensor& tensor : exact.parameters().tensors()) {
    const auto wanted = exact.parameters().gradients(tensor);
    const auto got = rounded.parameters().gradients(tensor);
    double largest = 0;
    for (const double each : wanted) largest = std::max(largest, std::abs(each));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      // Key biases have no true gradient: shifting all keys alike changes no softmax.
      ASSERT_NEAR(wanted[i], static_cast<double>(got[i]), 2e-5 * largest + 1e-7)
          << tensor.info.name << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ModelGradient, ::testing::ValuesIn(all_tiny_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::testing
