// Loss and gradients against Hugging Face transformers on PyTorch (tests/data/model/README.md).
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "whole_model.h"

namespace penstock::testing {
namespace {

// The formula of hf_reference.py.
double reference_weight(std::uint32_t tensor, std::uint32_t element) {
  std::uint32_t mixed = element * 2654435761u + tensor * 40503u + 12345u;
  mixed = (mixed ^ (mixed >> 15)) * 2246822519u;
  return (mixed / 4294967296.0 - 0.5) * 0.8;
}

class HuggingFace : public ::testing::TestWithParam<nlohmann::json> {};

TEST_P(HuggingFace, ComputesTheSameLossAndGradients) {
  const nlohmann::json& expected = GetParam();
  const Model model = read_model(expected["config"].dump(), "hf_reference.json");
  WholeModel<double> whole(model, expected["sequences"], expected["tokens"]);
  const auto& tensors = whole.parameters().tensors();
  ASSERT_EQ(tensors.size(), expected["tensors"].size());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    ASSERT_EQ(tensors[k].info.name, expected["tensors"][k]["name"]);
    ASSERT_EQ(nlohmann::json(tensors[k].info.shape), expected["tensors"][k]["shape"]);
    const bool norm = tensors[k].info.shape.size() == 1 && tensors[k].info.name.ends_with("weight");
    const auto values = whole.parameters().values(tensors[k]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = reference_weight(static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(i)) +
                  (norm ? 1 : 0);
    }
  }

  // transformers computes rotary angles in fp32 even in a double model.
  const double precision = model.positions == Positions::Rotary ? 2e-6 : 1e-10;
  EXPECT_NEAR(whole.loss(), expected["loss"].get<double>(), precision);
  whole.backward();
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const nlohmann::json& tensor = expected["tensors"][k];
    const auto gradient = whole.parameters().gradients(tensors[k]);
    double square = 0;
    for (const double each : gradient) square += each * each;
    const double norm = tensor["gradient_norm"];
    EXPECT_NEAR(std::sqrt(square), norm, precision * std::max(norm, 1.0)) << tensor["name"];
    for (const auto& [index, value] : tensor["gradient"].items()) {
      EXPECT_NEAR(gradient[std::stoul(index)], value.get<double>(), precision * std::max(norm, 1.0))
          << tensor["name"] << ", element " << index;
    }
  }
}

std::vector<nlohmann::json> cases() {
  std::ifstream file(TEST_DATA "/model/hf_reference.json");
  return nlohmann::json::parse(file)["cases"];
}

INSTANTIATE_TEST_SUITE_P(Shapes, HuggingFace, ::testing::ValuesIn(cases()), [](const auto& info) {
  return info.param["name"].template get<std::string>();
});

}  // namespace
}  // namespace penstock::testing
