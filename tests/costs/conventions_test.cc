// Published TFLOP/s against those that follow from the published step time: the sources' ways to
// count are named right, and counted right.
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model_files.h"
#include "penstock/flops.h"

namespace penstock::testing {
namespace {

using Json = nlohmann::json;

std::vector<Json> rows() {
  std::ifstream file(TEST_DATA "/costs/published_flops.jsonl");
  std::vector<Json> list;
  for (std::string line; std::getline(file, line);) list.push_back(Json::parse(line));
  return list;
}

Model model_of(const Json& row) {
  Model model;
  model.family = row["swiglu"] ? Family::Llama : Family::Gpt2;
  model.gated_mlp = row["swiglu"];
  model.layers = row["layers"];
  model.hidden = row["hidden"];
  model.heads = row["heads"];
  model.kv_heads = row["kv_heads"];
  model.head_size = model.hidden / model.heads;
  model.ffn = row["ffn"];
  model.vocabulary = row["vocabulary"];
  return model;
}

FlopConvention convention_of(const Json& row) {
  for (const FlopConventionEntry& entry : flop_conventions()) {
    if (entry.name == row["convention"]) return entry.convention;
  }
  throw std::runtime_error("no such convention");
}

double tflops(const Model& model, const Json& row, FlopConvention convention) {
  const double step = row["batch"].get<double>() * model_flops(model, row["sequence"], convention);
  return 1e-12 * step / row["step_s"].get<double>() / row["devices"].get<double>();
}

// "sc21" of "sc21-t1-1.7b".
std::string source_of(const Json& row) {
  const std::string id = row["id"];
  return id.substr(0, id.find('-'));
}

// Published over recomputed. Times and throughputs are printed with two to four digits.
TEST(Conventions, GiveThePublishedThroughput) {
  const std::map<std::string, double> tolerance = {
      {"mlm", 0.003}, {"sc21", 0.005}, {"mtnlg", 0.006},  {"kort", 0.005},
      {"mpt", 0.006}, {"dgxc", 0.005}, {"mbridge", 0.003}};
  std::map<std::string, int> seen;
  for (const Json& row : rows()) {
    if (row.contains("experts")) continue;
    const double ratio =
        row["tflops"].get<double>() / tflops(model_of(row), row, convention_of(row));
    EXPECT_NEAR(ratio, 1, tolerance.at(source_of(row))) << row["id"];
    ++seen[source_of(row)];
  }
  for (const auto& [source, unused] : tolerance) EXPECT_GE(seen[source], 2) << source;
}

// The numbers tell the conventions apart: under another one no source comes as near.
TEST(Conventions, NoOtherFits) {
  for (const Json& row : rows()) {
    if (row.contains("experts")) continue;
    const Model model = model_of(row);
    const double published = row["tflops"];
    const auto error = [&](FlopConvention convention) {
      return std::abs(published / tflops(model, row, convention) - 1);
    };
    for (const FlopConventionEntry& other : flop_conventions()) {
      if (other.convention == convention_of(row)) continue;
      EXPECT_LT(error(convention_of(row)), error(other.convention)) << row["id"] << other.name;
    }
  }
}

// Kimi K2 in DeepSeek-V3's shape: latent attention and experts, counted for the causal half. NeMo
// AutoModel publishes 189 TFLOP/s.
TEST(Conventions, CountExpertsAndLatentAttention) {
  for (const Json& row : rows()) {
    if (!row.contains("experts")) continue;
    const Model model =
        model_file("deepseek-v3", R"({"num_attention_heads": 64, "num_key_value_heads": 64,
                                      "n_routed_experts": 384, "first_k_dense_replace": 1,
                                      "vocab_size": 163840, "num_nextn_predict_layers": null})");
    EXPECT_NEAR(row["tflops"].get<double>() / tflops(model, row, convention_of(row)), 1, 0.01);
  }
}

// The forms that the sources print, of a GPT whose MLP is 4h wide.
TEST(Conventions, EqualThePrintedFormulas) {
  const Model model = model_file("gpt3-175b", R"({"vocab_size": 51200})");
  const double L = 96, h = 12288, s = 2048, V = 51200;
  const double model_form = 72 * L * s * h * h;
  const auto expect = [&](FlopConvention convention, double expected) {
    EXPECT_NEAR(model_flops(model, 2048, convention) / expected, 1, 1e-12);
  };
  expect(FlopConvention::ModelFull, model_form * (1 + s / (6 * h) + V / (12 * h * L)));
  expect(FlopConvention::ModelCausal, model_form * (1 + s / (12 * h) + V / (12 * h * L)));
  expect(FlopConvention::HardwareSelective, model_form * (1 + s / (3 * h) + V / (12 * h * L)));
  expect(FlopConvention::HardwareFull, 96 * L * s * h * h * (1 + s / (6 * h) + V / (16 * L * h)));
  // 6N + 12 L h s, N = parameters in matrices.
  const double N = 12 * L * h * h + V * h;
  expect(FlopConvention::ModelFull, s * (6 * N + 12 * L * h * s));
  expect(FlopConvention::ModelCausal, s * (6 * N + 6 * L * h * s));
}

TEST(Conventions, AreListedInOrder) {
  for (std::size_t i = 0; i < flop_conventions().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(flop_conventions()[i].convention), i);
  }
  EXPECT_EQ(flop_conventions().size(), 4u);
}

}  // namespace
}  // namespace penstock::testing
