#include "penstock/flops.h"

#include <set>

#include <gtest/gtest.h>

#include "model_files.h"

namespace penstock::testing {
namespace {

const char* const kModels[] = {"gpt2-124m",         "gpt3-175b",     "llama-3-8b-instruct",
                               "llama-2-70b",       "qwen2.5-0.5b",  "qwen3-0.6b",
                               "mixtral-8x7b-v0.1", "qwen3-30b-a3b", "deepseek-v3"};

double whole(const Model& model, const TokenRange& range, const Parallel& parallel, Pass pass,
             AttentionFlops attention = AttentionFlops::Causal) {
  double sum = 0;
  for (std::int32_t block = 0; block < model.blocks(); ++block) {
    sum += flops(products(model, block, range, parallel, pass, attention));
  }
  return sum;
}

// Weight gradients have the shapes of the weights: every matrix of the checkpoint once.
TEST(Products, MeetEveryMatrixOnce) {
  for (const char* name : kModels) {
    const Model model = model_file(name);
    for (std::int32_t block = 1; block < model.blocks(); ++block) {
      std::int64_t expected = 0;
      for (const ModelTensor& tensor : block_tensors(model, block)) {
        if (tensor.shape.size() == 2) expected += tensor.size();
      }
      if (block == model.head_block()) {
        expected = std::int64_t{model.vocabulary} * model.hidden * (1 + model.mtp_depth);
      }
      std::int64_t sum = 0;
      for (const MatrixProduct& each :
           products(model, block, {.tokens = 64}, {}, Pass::WeightGradient)) {
        sum += each.m * each.n * each.count;
      }
      EXPECT_EQ(sum, expected) << name << ' ' << block;
    }
  }
}

// A layer of GPT-3 on 8 devices, 2 sequences: shapes by hand.
TEST(Products, HaveTheShapesOfTensorParallelism) {
  const Model model = model_file("gpt3-175b");
  const auto forward = products(model, 1, {.sequences = 2, .tokens = 2048}, {.tensor = 8},
                                Pass::Forward, AttentionFlops::Full);
  const std::vector<MatrixProduct> expected = {
      {ProductUse::QueryKeyValue, Pass::Forward, 4096, 4608, 12288},
      {ProductUse::Scores, Pass::Forward, 2048, 2048, 128, 24},
      {ProductUse::Values, Pass::Forward, 2048, 128, 2048, 24},
      {ProductUse::AttentionOut, Pass::Forward, 4096, 12288, 1536},
      {ProductUse::MlpUp, Pass::Forward, 4096, 6144, 12288},
      {ProductUse::MlpDown, Pass::Forward, 4096, 12288, 6144}};
  EXPECT_EQ(forward, expected);
  const auto weight =
      products(model, 1, {.sequences = 2, .tokens = 2048}, {.tensor = 8}, Pass::WeightGradient);
  EXPECT_EQ(weight[0],
            (MatrixProduct{ProductUse::QueryKeyValue, Pass::WeightGradient, 4608, 12288, 4096}));
  EXPECT_EQ(weight.size(), 4u);  // attention has no weights
  const auto input = products(model, 1, {.sequences = 2, .tokens = 2048}, {.tensor = 8},
                              Pass::InputGradient, AttentionFlops::Full);
  EXPECT_EQ(input.size(), 8u);  // two products each for scores and values
}

// A layer of DeepSeek-V3, 64 devices sharing 256 experts: 4 of them, 8 x 4096 / 4 / 64 x 64 tokens.
TEST(Products, HaveTheShapesOfExpertsAndLatentAttention) {
  const Model model = model_file("deepseek-v3");
  const auto forward = products(model, 4, {.tokens = 4096}, {.data = 64, .expert = 64},
                                Pass::Forward, AttentionFlops::Full);
  const std::vector<MatrixProduct> expected = {
      {ProductUse::QueryDown, Pass::Forward, 4096, 1536, 7168},
      {ProductUse::QueryUp, Pass::Forward, 4096, 24576, 1536},
      {ProductUse::KeyValueDown, Pass::Forward, 4096, 576, 7168},
      {ProductUse::KeyValueUp, Pass::Forward, 4096, 32768, 512},
      {ProductUse::Scores, Pass::Forward, 4096, 4096, 192, 128},
      {ProductUse::Values, Pass::Forward, 4096, 128, 4096, 128},
      {ProductUse::AttentionOut, Pass::Forward, 4096, 7168, 16384},
      {ProductUse::Router, Pass::Forward, 4096, 256, 7168},
      {ProductUse::ExpertUp, Pass::Forward, 8192, 4096, 7168, 4},
      {ProductUse::ExpertDown, Pass::Forward, 8192, 7168, 2048, 4},
      {ProductUse::SharedUp, Pass::Forward, 4096, 4096, 7168},
      {ProductUse::SharedDown, Pass::Forward, 4096, 7168, 2048}};
  EXPECT_EQ(forward, expected);
  const auto dense = products(model, 3, {.tokens = 4096}, {}, Pass::Forward);
  EXPECT_EQ(dense.back().use, ProductUse::MlpDown);
  const auto module = products(model, 62, {.tokens = 4096}, {}, Pass::Forward);
  EXPECT_EQ(module.front(),
            (MatrixProduct{ProductUse::PredictionIn, Pass::Forward, 4096, 7168, 14336}));
  const auto head = products(model, 63, {.tokens = 4096}, {}, Pass::Forward);
  EXPECT_EQ(head.front(), (MatrixProduct{ProductUse::Head, Pass::Forward, 4096, 129280, 7168, 2}));
}

// B costs what F does twice over, halves alike but for attention, which is all in I.
TEST(Products, OfBothHalvesAreTwiceTheForward) {
  for (const char* name : kModels) {
    const Model model = model_file(name);
    const TokenRange range{.sequences = 2, .tokens = 512};
    const double forward = whole(model, range, {}, Pass::Forward);
    const double input = whole(model, range, {}, Pass::InputGradient);
    const double weight = whole(model, range, {}, Pass::WeightGradient);
    EXPECT_NEAR((input + weight) / forward, 2, 1e-12) << name;
    EXPECT_LT(weight, forward) << name;
    EXPECT_GT(input, forward) << name;
  }
}

// Whatever the degrees, all devices together do the work of one.
TEST(Products, AreSharedOutWithoutRest) {
  for (const char* name : {"gpt3-175b", "llama-2-70b", "mixtral-8x7b-v0.1", "qwen3-30b-a3b"}) {
    const Model model = model_file(name, R"({"vocab_size": 32768})");
    const TokenRange range{.sequences = 2, .tokens = 4096};
    const Parallel split{.tensor = 4, .sequence = true, .context = 2, .expert_tensor = 4};
    for (const Pass pass : {Pass::Forward, Pass::InputGradient, Pass::WeightGradient}) {
      EXPECT_NEAR(8 * whole(model, range, split, pass) / whole(model, range, {}, pass), 1, 1e-9)
          << name;
    }
  }
  // Four microbatches at once, each device with a fourth of the experts.
  const Model mixtral = model_file("mixtral-8x7b-v0.1");
  EXPECT_NEAR(whole(mixtral, {.tokens = 512}, {.data = 4, .expert = 4}, Pass::Forward) /
                  whole(mixtral, {.tokens = 512}, {}, Pass::Forward),
              1, 1e-12);
}

// Slices of a sequence do together what the whole sequence does under a causal mask.
TEST(Products, OfSlicesSumToTheSequence) {
  for (const char* name : kModels) {
    const Model model = model_file(name);
    double sum = 0;
    for (const TokenRange& slice : {TokenRange{1, 0, 300}, {1, 300, 500}, {1, 800, 224}}) {
      sum += whole(model, slice, {}, Pass::Forward);
    }
    EXPECT_NEAR(sum / whole(model, {.tokens = 1024}, {}, Pass::Forward), 1, 1e-12) << name;
  }
}

TEST(Products, CausalAttentionIsHalf) {
  const Model model = model_file("llama-3-8b-instruct");
  const auto pairs = [&](AttentionFlops attention) {
    double sum = 0;
    for (const MatrixProduct& each :
         products(model, 5, {.tokens = 8192}, {}, Pass::Forward, attention)) {
      if (each.use == ProductUse::Scores || each.use == ProductUse::Values) sum += each.flops();
    }
    return sum;
  };
  EXPECT_EQ(pairs(AttentionFlops::Full), 4.0 * 8192 * 8192 * 4096);
  EXPECT_EQ(pairs(AttentionFlops::Causal), 2.0 * 8192 * 8192 * 4096);
}

// Tokens that experts do not share evenly are not made up.
TEST(Products, CountTokensOfExpertsExactly) {
  const Model model = model_file("qwen3-30b-a3b");  // 8 of 128 experts
  for (const MatrixProduct& each : products(model, 1, {.tokens = 100}, {}, Pass::Forward)) {
    if (each.use != ProductUse::ExpertUp) continue;
    EXPECT_EQ(each.m, 7);  // 6.25 each
    EXPECT_DOUBLE_EQ(each.flops(), 2.0 * 100 * 8 * 2048 * 1536);
  }
}

TEST(Remade, IsNothingTheCoreOrAllOfALayer) {
  const Model model = model_file("gpt3-175b");
  const TokenRange range{.tokens = 2048};
  const auto work = [&](std::int32_t block, RecomputeChoice choice) {
    return flops(remade_products(model, block, range, {}, choice, AttentionFlops::Full));
  };
  EXPECT_EQ(work(1, RecomputeChoice::None), 0);
  EXPECT_EQ(work(1, RecomputeChoice::Selective), 4.0 * 2048 * 2048 * 12288);
  EXPECT_EQ(work(1, RecomputeChoice::Full),
            flops(products(model, 1, range, {}, Pass::Forward, AttentionFlops::Full)));
  for (const std::int32_t block : {0, 97}) EXPECT_EQ(work(block, RecomputeChoice::Full), 0);
  // Hardware FLOPs of eq. 3 are the three passes and what full recomputation adds.
  double sum = 0;
  for (std::int32_t block = 0; block < model.blocks(); ++block) {
    sum += work(block, RecomputeChoice::Full);
    for (const Pass pass : {Pass::Forward, Pass::InputGradient, Pass::WeightGradient}) {
      sum += flops(products(model, block, range, {}, pass, AttentionFlops::Full));
    }
  }
  EXPECT_NEAR(sum / model_flops(model, 2048, FlopConvention::HardwareFull), 1, 1e-12);
}

TEST(Remade, ByFlashAttentionIsHalfOfItsForward) {
  const Model model = model_file("gpt3-175b");
  EXPECT_EQ(flops(flash_remade_products(model, 1, {.tokens = 2048}, {}, AttentionFlops::Full)),
            2.0 * 2048 * 2048 * 12288);
  EXPECT_TRUE(flash_remade_products(model, 0, {.tokens = 2048}, {}).empty());
}

TEST(ProductUses, HaveNames) {
  std::set<std::string_view> names;
  for (int use = 0; use <= static_cast<int>(ProductUse::Head); ++use) {
    names.insert(name(static_cast<ProductUse>(use)));
  }
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(name(ProductUse::Head), "head");
}

}  // namespace
}  // namespace penstock::testing
