// Bytes against the closed forms and numbers of the papers.
#include "penstock/footprint.h"

#include <gtest/gtest.h>

#include "model_files.h"

namespace penstock::testing {
namespace {

const char* const kModels[] = {
    "gpt2-124m",    "gpt3-175b",  "llama-3-8b-instruct", "llama-2-70b",       "mistral-7b-v0.3",
    "qwen2.5-0.5b", "qwen3-0.6b", "deepseek-v3",         "mixtral-8x7b-v0.1", "qwen3-30b-a3b"};

// Korthikanti et al.'s setting: 16 bits, dropout, attention as separate operations.
const FootprintChoice kKorthikanti = {
    .precision = Precision::Fp16, .attention = AttentionKernel::Unfused, .dropout = true};

FootprintChoice with(FootprintChoice choice, RecomputeChoice recompute) {
  choice.recompute = recompute;
  return choice;
}

// arXiv 2205.05198, table 2, for layers of 22B, 175B, 530B and 1T (table 3) and others.
TEST(Activations, OfAGptLayerAreKorthikantis) {
  struct Layer {
    std::int64_t h, a, s, b, t;
  };
  for (const auto& [h, a, s, b, t] : {Layer{6144, 64, 2048, 4, 8},
                                      {12288, 96, 2048, 1, 8},
                                      {20480, 128, 2048, 1, 8},
                                      {25600, 160, 2048, 1, 8},
                                      {1024, 16, 512, 3, 1},
                                      {2048, 32, 8192, 2, 4}}) {
    Model model;
    model.layers = 2;
    model.hidden = static_cast<std::int32_t>(h);
    model.heads = model.kv_heads = static_cast<std::int32_t>(a);
    model.head_size = static_cast<std::int32_t>(h / a);
    model.ffn = static_cast<std::int32_t>(4 * h);
    model.vocabulary = 51200;
    const TokenRange range{.sequences = b, .tokens = s};
    const auto bytes = [&](const Parallel& parallel, RecomputeChoice recompute) {
      return footprint(model, 1, range, parallel, with(kKorthikanti, recompute)).kept;
    };
    const auto degree = static_cast<std::int32_t>(t);
    const Parallel tensor{.tensor = degree};
    const Parallel sequence{.tensor = degree, .sequence = true};
    const std::int64_t sbh = s * b * h;
    const std::int64_t core = 5 * a * s * s * b;  // sbh x 5 a s / h
    EXPECT_EQ(bytes({}, RecomputeChoice::None), 34 * sbh + core);
    EXPECT_EQ(bytes(tensor, RecomputeChoice::None), 10 * sbh + (24 * sbh + core) / t);
    EXPECT_EQ(bytes(sequence, RecomputeChoice::None), (34 * sbh + core) / t);
    EXPECT_EQ(bytes(tensor, RecomputeChoice::Selective), 10 * sbh + 24 * sbh / t);
    EXPECT_EQ(bytes(sequence, RecomputeChoice::Selective), 34 * sbh / t);
    EXPECT_EQ(bytes(tensor, RecomputeChoice::Full), 2 * sbh);
    // Kept or made again, it is there when the backward runs.
    EXPECT_EQ(
        footprint(model, 1, range, tensor, with(kKorthikanti, RecomputeChoice::Full)).activations,
        bytes(tensor, RecomputeChoice::None));
    // Section 4.3: the embedding's dropout s b h / t, and 4 s b h / t (1 + V / h) at the end.
    EXPECT_EQ(footprint(model, 0, range, sequence, kKorthikanti).activations, sbh / t);
    EXPECT_EQ(footprint(model, 3, range, sequence, kKorthikanti).activations,
              4 * sbh / t + 4 * s * b * 51200 / t);
  }
}

// FlashAttention leaves one number of four bytes per head and token of the core.
TEST(Activations, UnderFlashAttentionGrowLinearly) {
  const Model model = model_file("gpt3-175b");
  FootprintChoice choice = kKorthikanti;
  choice.attention = AttentionKernel::Flash;
  const std::int64_t sbh = 2048LL * 12288;
  EXPECT_EQ(footprint(model, 1, {.tokens = 2048}, {}, choice).activations,
            34 * sbh + 4 * 96 * 2048);
  choice.dropout = false;
  EXPECT_EQ(footprint(model, 1, {.tokens = 2048}, {}, choice).activations,
            32 * sbh + 4 * 96 * 2048);
}

// What a zero-bubble schedule holds from I to W: 32 s b h (arXiv 2401.10241, table 1).
TEST(Activations, ForTheWeightPassAreTheZeroBubblePapers) {
  const Model model = model_file("gpt3-175b");
  const TokenRange range{.sequences = 3, .tokens = 1024};
  const std::int64_t sbh = 3 * 1024LL * 12288;
  EXPECT_EQ(footprint(model, 1, range, {}, kKorthikanti).weight_pass, 32 * sbh);
  // Sharded with the sequence, all of it is.
  EXPECT_EQ(footprint(model, 1, range, {.tensor = 8, .sequence = true}, kKorthikanti).weight_pass,
            32 * sbh / 8);
  // Without: the inputs of the first matrices and the gradients of the second's outputs are whole.
  EXPECT_EQ(footprint(model, 1, range, {.tensor = 8}, kKorthikanti).weight_pass,
            8 * sbh + 24 * sbh / 8);
}

// By hand, per token of Llama-3-8B in bf16: norms 2 x 2h, matrices' inputs 2h + 2h + 2h + 2f, query
// 2h, key and value 2 x 2 x 1024, gate and up 2 x 2f; f = 14336, h = 4096.
TEST(Activations, OfGroupedQueriesAndSwiGlu) {
  const Model model = model_file("llama-3-8b-instruct");
  const std::int64_t token = 12LL * 4096 + 4 * 1024 + 6 * 14336;
  const FootprintChoice choice;
  EXPECT_EQ(footprint(model, 1, {.tokens = 8192}, {}, choice).kept, 8192 * (token + 4 * 32));
  EXPECT_EQ(
      footprint(model, 1, {.tokens = 8192}, {}, with(choice, RecomputeChoice::Selective)).kept,
      8192 * token);
  // In fp8 what matrices read takes one byte.
  EXPECT_EQ(footprint(model, 1, {.tokens = 8192}, {}, {.precision = Precision::Fp8}).kept,
            8192 * (token + 4 * 32 - 3 * 4096 - 14336));
  EXPECT_EQ(footprint(model, 1, {.tokens = 8192}, {}, {.precision = Precision::Fp32}).kept,
            8192 * (2 * token + 4 * 32));
}

// By hand, per token of Mixtral: attention as Llama's; then the norm 2h, its output 2h, 8
// probabilities of 4 bytes, and for each of two experts input 2h, gate and up 4f, product 2f,
// output 2h.
TEST(Activations, OfExperts) {
  const Model model = model_file("mixtral-8x7b-v0.1");
  const std::int64_t attention = 8LL * 4096 + 4 * 1024 + 4 * 32;
  const std::int64_t token = attention + 4 * 4096 + 4 * 8 + 2 * (4 * 4096 + 6 * 14336);
  EXPECT_EQ(footprint(model, 1, {.tokens = 4096}, {}, {}).kept, 4096 * token);
  EXPECT_EQ(footprint(model, 1, {.tokens = 4096}, {.data = 8, .expert = 8}, {}).kept, 4096 * token);
}

// By hand, per token of DeepSeek-V3's dense layers: norms 4h, their outputs 4h, latents twice
// 2 (1536 + 512), queries and keys 2 x 2 x 128 x 192, values 2 x 128 x 128, their product with the
// probabilities the same, gate and up 4f, product 2f.
TEST(Activations, OfLatentAttention) {
  const Model model = model_file("deepseek-v3");
  const std::int64_t token =
      8LL * 7168 + 4 * 2048 + 4 * 128 * 192 + 4 * 128 * 128 + 4 * 128 + 6 * 18432;
  EXPECT_EQ(footprint(model, 1, {.tokens = 4096}, {}, {}).kept, 4096 * token);
}

TEST(Activations, SplitEvenlyOverContext) {
  for (const char* name : kModels) {
    const Model model = model_file(name);
    for (std::int32_t block = 0; block < model.blocks(); ++block) {
      EXPECT_EQ(footprint(model, block, {.tokens = 4096}, {}, {}).activations,
                4 * footprint(model, block, {.tokens = 4096}, {.context = 4}, {}).activations)
          << name << ' ' << block;
    }
  }
}

// Rajbhandari et al., arXiv 1910.02054, figure 1: 7.5 B parameters, 64 devices; GB.
TEST(State, IsZerosFigure) {
  Model model;  // 7.5 B of whatever shape: a vocabulary alone
  model.family = Family::Llama;
  model.positions = Positions::Rotary;
  model.vocabulary = 7'500'000;
  model.hidden = 1000;
  const auto gigabytes = [&](std::int32_t zero) {
    const Parallel parallel{.data = 64, .zero = zero};
    return 1e-9 *
           static_cast<double>(footprint(model, 0, {}, parallel, {.state = kZeroState}).state());
  };
  EXPECT_NEAR(gigabytes(0), 120, 0.05);
  EXPECT_NEAR(gigabytes(1), 31.4, 0.05);
  EXPECT_NEAR(gigabytes(2), 16.6, 0.05);
  EXPECT_NEAR(gigabytes(3), 1.9, 0.05);
  EXPECT_EQ(
      footprint(model, 0, {}, {.data = 64, .zero = 3}, {.state = kZeroState}).gathered_weights,
      15'000'000'000);
}

// Megatron-LM's page on the distributed optimizer, bytes per parameter with d replicas.
TEST(State, IsMegatronsTable) {
  struct Row {
    StateBytes state;
    std::int64_t plain, fixed, sharded;
  };
  for (const auto& [state, plain, fixed, sharded] :
       {Row{kFp16State, 20, 4, 16}, {kBf16State, 18, 6, 12}, {kFp32State, 16, 8, 8}}) {
    const Model model = model_file("llama-3-8b-instruct");
    const std::int64_t size = trained_values(model, 1, {}).dense;
    for (const std::int32_t d : {2, 4, 8}) {
      EXPECT_EQ(footprint(model, 1, {}, {.data = d}, {.state = state}).state(), plain * size);
      EXPECT_EQ(footprint(model, 1, {}, {.data = d, .zero = 1}, {.state = state}).state(),
                fixed * size + sharded * size / d);
    }
  }
}

TEST(State, CountsEveryTrainedValueOnce) {
  for (const char* name : kModels) {
    const Model model = model_file(name);
    for (std::int32_t block = 0; block < model.blocks(); ++block) {
      std::int64_t expected = 0;
      for (const ModelTensor& tensor : block_tensors(model, block)) expected += tensor.size();
      const TrainedValues values = trained_values(model, block, {});
      EXPECT_EQ(values.dense + values.experts, expected) << name << ' ' << block;
    }
  }
}

// A GPT-3 layer on eight devices: an eighth of the matrices and of the biases of the first of each
// pair, all of the norms and the other biases.
TEST(State, IsCutByTensorParallelism) {
  const std::int64_t h = 12288;
  EXPECT_EQ(trained_values(model_file("gpt3-175b"), 1, {.tensor = 8}).dense,
            12 * h * h / 8 + 7 * h / 8 + 4 * h + 2 * h);
  // 16 devices share 8 key-value heads: each holds a whole one.
  const Model llama = model_file("llama-2-70b");
  EXPECT_EQ(trained_values(llama, 1, {.tensor = 16}).dense,
            2 * 8192LL * 8192 / 16 + 2 * 8192 * 128 + 3 * 8192LL * 28672 / 16 + 2 * 8192);
}

// Experts are held by fewer replicas than the rest, and shared out over those.
TEST(State, OfExpertsIsShardedOverTheirReplicas) {
  const Model model = model_file("mixtral-8x7b-v0.1");
  const std::int64_t matrices = 3 * 4096LL * 14336;
  const TrainedValues values = trained_values(model, 1, {.data = 32, .expert = 8});
  EXPECT_EQ(values.experts, matrices);  // one of eight
  const Footprint held = footprint(model, 1, {}, {.data = 32, .expert = 8, .zero = 1}, {});
  EXPECT_EQ(held.optimizer, 12 * (values.experts / 4 + values.dense / 32));
  EXPECT_EQ(held.weights, 2 * (values.experts + values.dense));
}

TEST(Parts, HoldACopyOfTheEmbeddingWhereTheyNeedOne) {
  const auto weights = [](const Model& model, std::int32_t first, std::int32_t end) {
    return part_footprint(model, first, end, {.tokens = 8}, {}, {}).weights;
  };
  const Model tied = model_file("gpt2-124m");
  EXPECT_EQ(weights(tied, 0, 14), 2 * 124'439'808);
  EXPECT_EQ(weights(tied, 0, 7) + weights(tied, 7, 14), 2 * (124'439'808 + 50257 * 768));
  const Model untied = model_file("llama-3-8b-instruct");
  EXPECT_EQ(weights(untied, 0, 9) + weights(untied, 9, 34), 2 * 8'030'261'248);
  const Model predicting = model_file("deepseek-v3");
  EXPECT_EQ(weights(predicting, 62, 63), 2 * (prediction_parameters(predicting) + 129280LL * 7168));
}

// Section 4.1 of arXiv 2104.04473 and, under sequence parallelism, section 4.2.2 of 2205.05198.
TEST(Boundary, IsTheHiddenStateOrAShareOfIt) {
  const Model model = model_file("gpt3-175b");
  const TokenRange range{.sequences = 2, .tokens = 2048};
  const std::int64_t whole = 2 * 2048 * 12288 * 2;
  const auto bytes = [&](const Parallel& parallel, bool scatter_gather) {
    return boundary_bytes(model, 5, range, parallel, Precision::Bf16, scatter_gather);
  };
  EXPECT_EQ(bytes({.tensor = 8}, false), whole);
  EXPECT_EQ(bytes({.tensor = 8}, true), whole / 8);
  EXPECT_EQ(bytes({.tensor = 8, .sequence = true}, false), whole / 8);
  EXPECT_EQ(bytes({.context = 4}, false), whole / 4);
  EXPECT_EQ(boundary_bytes(model, 5, range, {}, Precision::Fp8), whole);
  const Model predicting = model_file("deepseek-v3");
  EXPECT_EQ(boundary_bytes(predicting, 61, range, {}, Precision::Bf16), 2 * 2048 * 7168 * 2);
  EXPECT_EQ(boundary_bytes(predicting, 62, range, {}, Precision::Bf16), 2 * 2 * 2048 * 7168 * 2);
}

// DeepSeek, "Insights into DeepSeek-V3" (arXiv 2505.09343), table 1: bytes per token of the whole
// model in bf16. Qwen2.5 72B 327.680 KB, Llama-3.1 405B 516.096 KB, DeepSeek-V3 70.272 KB.
TEST(KvCache, IsThePublishedOne) {
  const auto per_token = [](const Model& model, CachedAs cached) {
    std::int64_t sum = 0;
    for (std::int32_t block = 0; block <= model.layers; ++block) {
      sum += kv_cache_bytes(model, block, {.tokens = 1}, {}, Precision::Bf16, cached);
    }
    return sum;
  };
  EXPECT_EQ(per_token(model_file("deepseek-v3"), CachedAs::Latent), 70'272);
  const Model qwen = model_file("qwen2.5-0.5b", R"({"hidden_size": 8192, "num_hidden_layers": 80,
                                     "num_attention_heads": 64, "num_key_value_heads": 8})");
  EXPECT_EQ(per_token(qwen, CachedAs::KeysAndValues), 327'680);
  const Model llama = model_file("llama-3-70b", R"({"hidden_size": 16384, "num_hidden_layers": 126,
                                    "num_attention_heads": 128})");
  EXPECT_EQ(per_token(llama, CachedAs::KeysAndValues), 516'096);
  EXPECT_EQ(
      kv_cache_bytes(llama, 1, {.sequences = 2, .tokens = 100}, {.tensor = 4}, Precision::Bf16),
      2 * 100 * 4096 / 4);
}

TEST(Logits, AreInSinglePrecision) {
  EXPECT_EQ(logits_bytes(model_file("llama-3-8b-instruct"), {.tokens = 8192}, {.tensor = 4}),
            4LL * 8192 * 128256 / 4);
}

}  // namespace
}  // namespace penstock::testing
