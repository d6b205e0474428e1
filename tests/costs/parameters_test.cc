// Published sizes of published models, to the last parameter.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "model_files.h"

namespace penstock::testing {
namespace {

struct Published {
  std::string name;
  std::string patch;  // what another size of the family has instead
  std::int64_t parameters;
};

// Counts of the safetensors files on each model's page at Hugging Face; GPT-2 and GPT-3 from the
// shapes in their papers (GPT-3, arXiv 2005.14165, table 2.1: 175.0 B).
const Published kPublished[] = {
    {"gpt2-124m", "{}", 124'439'808},
    {"gpt3-175b", "{}", 174'604'259'328},
    {"llama-3-8b-instruct", "{}", 8'030'261'248},
    {"llama-3-70b", "{}", 70'553'706'496},
    {"llama-2-70b", "{}", 68'976'648'192},
    {"mistral-7b-v0.3", "{}", 7'248'023'552},
    {"mistral-7b-v0.3", R"({"vocab_size": 32000})", 7'241'732'096},  // v0.2
    {"qwen2.5-0.5b", "{}", 494'032'768},
    {"qwen2.5-0.5b",
     R"({"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
         "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
         "tie_word_embeddings": false})",
     7'615'616'512},  // 7b
    {"qwen2.5-0.5b",
     R"({"hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
         "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064,
         "tie_word_embeddings": false})",
     72'706'203'648},  // 72b
    {"qwen3-0.6b", "{}", 596'049'920},
    {"qwen3-0.6b",
     R"({"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
         "num_attention_heads": 32, "tie_word_embeddings": false})",
     8'190'735'360},  // 8b
    {"mixtral-8x7b-v0.1", "{}", 46'702'792'704},
    {"qwen3-30b-a3b", "{}", 30'532'122'624},
    {"qwen3-235b-a22b", "{}", 235'093'634'560},
    {"deepseek-v3", "{}", 671'026'419'200},
};

TEST(Parameters, AreThePublishedOnes) {
  for (const auto& [name, patch, expected] : kPublished) {
    EXPECT_EQ(parameters(model_file(name, patch)), expected) << name << ' ' << patch;
  }
}

// Mixtral: 12.9 B (arXiv 2401.04088). Qwen3: 3.3 B and 22 B (arXiv 2505.09388). DeepSeek-V3: 36.7 B
// by README_WEIGHTS.md, which leaves the 0.9 B of the input embedding out.
TEST(Parameters, ThatOneTokenMeets) {
  EXPECT_EQ(active_parameters(model_file("mixtral-8x7b-v0.1")), 12'879'925'248);
  EXPECT_EQ(active_parameters(model_file("qwen3-30b-a3b")), 3'353'032'704);
  EXPECT_NEAR(1e-9 * static_cast<double>(active_parameters(model_file("qwen3-235b-a22b"))), 22.2,
              0.05);
  const std::int64_t deepseek = active_parameters(model_file("deepseek-v3"));
  EXPECT_EQ(deepseek, 37'552'297'472);
  EXPECT_NEAR(1e-9 * static_cast<double>(deepseek - 129280LL * 7168), 36.6, 0.05);
  EXPECT_EQ(active_parameters(model_file("llama-2-70b")), 68'976'648'192);
}

// 11.5 B unique ones (README_WEIGHTS.md of DeepSeek-V3), in none of the published totals of 671 B:
// with the copies of the embedding and the head that the files hold, 685 B together.
TEST(Parameters, OfPredictionModulesStandApart) {
  const Model model = model_file("deepseek-v3");
  const std::int64_t prediction = prediction_parameters(model);
  EXPECT_EQ(prediction, 11'610'068'224);
  const std::int64_t copies = 2 * 129280LL * 7168;
  EXPECT_EQ(parameters(model) + prediction + copies, 684'489'845'504);
  EXPECT_EQ(prediction_parameters(model_file("llama-3-8b-instruct")), 0);
  EXPECT_EQ(parameters(model_file("deepseek-v3", R"({"num_nextn_predict_layers": null})")),
            parameters(model));
}

TEST(Tensors, HaveThePublishedNamesAndShapes) {
  const auto shapes_of = [](const std::string& name) {
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const ModelTensor& tensor : model_tensors(model_file(name))) {
      shapes[tensor.name] = tensor.shape;
    }
    return shapes;
  };
  using Shape = std::vector<std::int64_t>;
  const auto mixtral = shapes_of("mixtral-8x7b-v0.1");
  EXPECT_EQ(mixtral.size(), 995u);  // model.safetensors.index.json of mistralai/Mixtral-8x7B-v0.1
  EXPECT_EQ(mixtral.at("model.layers.0.block_sparse_moe.gate.weight"), (Shape{8, 4096}));
  EXPECT_EQ(mixtral.at("model.layers.31.block_sparse_moe.experts.7.w2.weight"),
            (Shape{4096, 14336}));
  const auto qwen2 = shapes_of("qwen2.5-0.5b");
  EXPECT_EQ(qwen2.size(), 290u);
  EXPECT_EQ(qwen2.at("model.layers.23.self_attn.k_proj.bias"), (Shape{128}));
  EXPECT_EQ(qwen2.count("lm_head.weight"), 0u);
  const auto qwen3 = shapes_of("qwen3-0.6b");
  EXPECT_EQ(qwen3.at("model.layers.0.self_attn.q_proj.weight"), (Shape{2048, 1024}));
  EXPECT_EQ(qwen3.at("model.layers.0.self_attn.q_norm.weight"), (Shape{128}));
  const auto moe = shapes_of("qwen3-235b-a22b");
  EXPECT_EQ(moe.size(), 36945u);
  EXPECT_EQ(moe.at("model.layers.93.mlp.experts.127.gate_proj.weight"), (Shape{1536, 4096}));
  EXPECT_EQ(moe.at("model.layers.0.mlp.gate.weight"), (Shape{128, 4096}));
}

TEST(Tensors, OfDeepseekHaveThePublishedNamesAndShapes) {
  std::map<std::string, ModelTensor> tensors;
  for (ModelTensor& tensor : model_tensors(model_file("deepseek-v3"))) {
    tensors[tensor.name] = std::move(tensor);
  }
  const auto shape = [&](const std::string& name) {
    return tensors.at("model.layers." + name).shape;
  };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape("0.self_attn.q_a_proj.weight"), (Shape{1536, 7168}));
  EXPECT_EQ(shape("0.self_attn.q_b_proj.weight"), (Shape{24576, 1536}));
  EXPECT_EQ(shape("0.self_attn.kv_a_proj_with_mqa.weight"), (Shape{576, 7168}));
  EXPECT_EQ(shape("0.self_attn.kv_b_proj.weight"), (Shape{32768, 512}));
  EXPECT_EQ(shape("0.self_attn.o_proj.weight"), (Shape{7168, 16384}));
  EXPECT_EQ(shape("2.mlp.gate_proj.weight"), (Shape{18432, 7168}));
  EXPECT_EQ(shape("3.mlp.gate.e_score_correction_bias"), (Shape{256}));
  EXPECT_EQ(shape("3.mlp.experts.255.down_proj.weight"), (Shape{7168, 2048}));
  EXPECT_EQ(shape("60.mlp.shared_experts.up_proj.weight"), (Shape{2048, 7168}));
  EXPECT_EQ(shape("61.eh_proj.weight"), (Shape{7168, 14336}));
  EXPECT_EQ(tensors.at("model.layers.61.enorm.weight").block, 62);
  EXPECT_EQ(tensors.at("model.layers.61.shared_head.norm.weight").block, 62);
  EXPECT_EQ(tensors.at("lm_head.weight").block, 63);
}

TEST(Tensors, AreEachListedOnceByBlock) {
  for (const Published& published : kPublished) {
    const Model model = model_file(published.name, published.patch);
    std::set<std::string> names;
    std::size_t listed = 0;
    for (std::int32_t block = 0; block < model.blocks(); ++block) {
      const std::vector<ModelTensor> tensors = block_tensors(model, block);
      EXPECT_FALSE(tensors.empty()) << published.name << ' ' << block;
      for (const ModelTensor& tensor : tensors) {
        EXPECT_EQ(tensor.block, block) << tensor.name;
        EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
      }
      listed += tensors.size();
    }
    EXPECT_EQ(model_tensors(model).size(), listed);
  }
}

TEST(Experts, SitInTheLayersThatTheFileNames) {
  const Model deepseek = model_file("deepseek-v3");
  EXPECT_FALSE(deepseek.has_experts(0));
  EXPECT_FALSE(deepseek.has_experts(3));
  EXPECT_TRUE(deepseek.has_experts(4));
  EXPECT_TRUE(deepseek.has_experts(62));
  EXPECT_FALSE(deepseek.has_experts(63));
  const Model qwen =
      model_file("qwen3-30b-a3b", R"({"decoder_sparse_step": 2, "mlp_only_layers": [5, 1]})");
  EXPECT_FALSE(qwen.has_experts(1));
  EXPECT_FALSE(qwen.has_experts(2));  // named
  EXPECT_TRUE(qwen.has_experts(4));
  EXPECT_FALSE(qwen.has_experts(6));  // named
}

std::string message_of(const std::string& name, const std::string& patch) {
  try {
    model_file(name, patch);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Families, RefuseWhatChangesTheMaths) {
  EXPECT_EQ(message_of("mixtral-8x7b-v0.1", R"({"num_experts_per_tok": 9})"),
            "mixtral-8x7b-v0.1: num_experts_per_tok 9 is more than num_local_experts 8");
  EXPECT_EQ(message_of("mistral-7b-v0.3", R"({"sliding_window": 4096})"),
            "mistral-7b-v0.3:/sliding_window: not supported: attention to a window of tokens");
  EXPECT_EQ(message_of("qwen3-30b-a3b", R"({"num_experts": 100000})"),
            "qwen3-30b-a3b: 48 layers with 100000 experts each are more than 1000000 experts");
  EXPECT_EQ(message_of("deepseek-v3", R"({"scoring_func": "softmax", "kv_lora_rank": null,
                                         "qk_rope_head_dim": 63, "first_k_dense_replace": 62})"),
            "deepseek-v3:/scoring_func: not supported: another score of the router\n"
            "deepseek-v3: 'kv_lora_rank' is missing\n  hint: it holds a whole number\n"
            "deepseek-v3: heads of odd size 191 cannot turn in pairs\n"
            "deepseek-v3:/first_k_dense_replace: 62 is out of range\n  hint: allowed: 0 to 61\n"
            "deepseek-v3: heads of odd size 63 cannot turn in pairs");
  EXPECT_EQ(message_of("deepseek-v3", R"({"quantization_config": {"quant_method": "gptq"}})"),
            "deepseek-v3:/quantization_config: not supported: quantised weights");
  EXPECT_EQ(model_file("deepseek-v3").rope_scaling, "yarn");
}

}  // namespace
}  // namespace penstock::testing
