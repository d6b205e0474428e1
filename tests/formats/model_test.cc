#include "penstock/model.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "formats_testing.h"
#include "testing_files.h"

namespace penstock {
namespace {

Model gpt2() {
  return read_model(data_file("models/gpt2-124m.json"), "gpt2.json");
}

Model llama() {
  return read_model(data_file("models/llama-3-8b-instruct.json"), "llama.json");
}

// The message for `file` with the members of `patch` put in (null removes one).
std::string message_with(const std::string& file, const std::string& patch) {
  nlohmann::json document = nlohmann::json::parse(data_file("models/" + file));
  document.merge_patch(nlohmann::json::parse(patch));
  return message_of([&] { read_model(document.dump(), "m.json"); });
}

std::string gpt2_with(const std::string& patch) {
  return message_with("gpt2-124m.json", patch);
}

std::string llama_with(const std::string& patch) {
  return message_with("llama-3-8b-instruct.json", patch);
}

TEST(Model, ReadsGpt2) {
  Model expected;
  expected.family = Family::Gpt2;
  expected.layers = 12;
  expected.hidden = 768;
  expected.heads = 12;
  expected.kv_heads = 12;
  expected.head_size = 64;
  expected.ffn = 3072;
  expected.vocabulary = 50257;
  expected.max_positions = 1024;
  expected.notes = {
      "trained without dropout (the file asks for attn_pdrop 0.1, embd_pdrop 0.1, resid_pdrop "
      "0.1)"};
  EXPECT_EQ(gpt2(), expected);
  EXPECT_EQ(parameters(gpt2()), 124'439'808);
}

TEST(Model, ReadsLlama3) {
  Model expected;
  expected.family = Family::Llama;
  expected.layers = 32;
  expected.hidden = 4096;
  expected.heads = 32;
  expected.kv_heads = 8;
  expected.head_size = 128;
  expected.ffn = 14336;
  expected.vocabulary = 128256;
  expected.max_positions = 8192;
  expected.norm = Norm::RmsNorm;
  expected.activation = Activation::Silu;
  expected.gated_mlp = true;
  expected.positions = Positions::Rotary;
  expected.rope_theta = 500000;
  expected.tied_embeddings = false;
  expected.linear_bias = false;
  EXPECT_EQ(llama(), expected);
  EXPECT_EQ(parameters(llama()), 8'030'261'248);
}

TEST(ModelTensors, AreHuggingFacesForGpt2) {
  const std::vector<ModelTensor> tensors = model_tensors(gpt2());
  ASSERT_EQ(tensors.size(), 2u + 12 * 12 + 2);
  EXPECT_EQ(tensors[0], (ModelTensor{"transformer.wte.weight", {50257, 768}, 0, true}));
  EXPECT_EQ(tensors[1], (ModelTensor{"transformer.wpe.weight", {1024, 768}, 0, true}));
  EXPECT_EQ(tensors[2], (ModelTensor{"transformer.h.0.ln_1.weight", {768}, 1, false}));
  EXPECT_EQ(tensors[4], (ModelTensor{"transformer.h.0.attn.c_attn.weight", {768, 2304}, 1, true}));
  EXPECT_EQ(tensors[5], (ModelTensor{"transformer.h.0.attn.c_attn.bias", {2304}, 1, false}));
  EXPECT_EQ(tensors[10], (ModelTensor{"transformer.h.0.mlp.c_fc.weight", {768, 3072}, 1, true}));
  EXPECT_EQ(tensors[145], (ModelTensor{"transformer.h.11.mlp.c_proj.bias", {768}, 12, false}));
  EXPECT_EQ(tensors[147], (ModelTensor{"transformer.ln_f.bias", {768}, 13, false}));
}

TEST(ModelTensors, AreHuggingFacesForLlama) {
  const std::vector<ModelTensor> tensors = model_tensors(llama());
  ASSERT_EQ(tensors.size(), 1u + 32 * 9 + 2);
  EXPECT_EQ(tensors[0], (ModelTensor{"model.embed_tokens.weight", {128256, 4096}, 0, true}));
  EXPECT_EQ(tensors[1], (ModelTensor{"model.layers.0.input_layernorm.weight", {4096}, 1, false}));
  EXPECT_EQ(tensors[3],
            (ModelTensor{"model.layers.0.self_attn.k_proj.weight", {1024, 4096}, 1, true}));
  EXPECT_EQ(tensors[9],
            (ModelTensor{"model.layers.0.mlp.down_proj.weight", {4096, 14336}, 1, true}));
  EXPECT_EQ(tensors[289], (ModelTensor{"model.norm.weight", {4096}, 33, false}));
  EXPECT_EQ(tensors[290], (ModelTensor{"lm_head.weight", {128256, 4096}, 33, true}));
}

TEST(ModelTensors, AnUntiedGpt2HasAHeadAndATiedLlamaNone) {
  Model model = gpt2();
  model.tied_embeddings = false;
  EXPECT_EQ(model_tensors(model).back(), (ModelTensor{"lm_head.weight", {50257, 768}, 13, true}));
  model = llama();
  model.tied_embeddings = true;
  EXPECT_EQ(model_tensors(model).back().name, "model.norm.weight");
}

TEST(ModelTensors, NamesAreUniqueAndBlocksRise) {
  for (const Model& model : {gpt2(), llama()}) {
    std::set<std::string> names;
    std::int32_t block = 0;
    for (const ModelTensor& tensor : model_tensors(model)) {
      EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
      EXPECT_GE(tensor.block, block);
      EXPECT_EQ(tensor.decayed, tensor.shape.size() == 2);
      block = tensor.block;
    }
    EXPECT_EQ(block, model.layers + 1);
  }
}

TEST(Model, RefusesOtherFamilies) {
  const std::string known =
      "known: gpt2, llama, mistral, qwen2, qwen3, mixtral, qwen3_moe, deepseek_v3";
  EXPECT_EQ(llama_with(R"({"model_type": "deepseek_v4"})"),
            "m.json:/model_type: model_type 'deepseek_v4' is not supported\n"
            "  hint: did you mean 'deepseek_v3'? " +
                known);
  EXPECT_EQ(llama_with(R"({"model_type": "bert"})"),
            "m.json:/model_type: model_type 'bert' is not supported\n  hint: " + known);
  EXPECT_EQ(llama_with(R"({"model_type": null})"),
            "m.json: 'model_type' is missing\n  hint: it holds a string");
  EXPECT_EQ(llama_with(R"({"model_type": 3})"), "m.json:/model_type: expected a string, found 3");
  EXPECT_EQ(message_of([] { read_model("[]", "m.json"); }), "m.json: expected an object, found []");
}

TEST(Model, RefusesWhatChangesTheMaths) {
  EXPECT_EQ(
      gpt2_with(R"({"scale_attn_by_inverse_layer_idx": true, "scale_attn_weights": false,
                          "activation_function": "relu", "n_embd": 770,
                          "quantization_config": {"bits": 4}})"),
      "m.json:/activation_function: activation 'relu' is not supported\n"
      "  hint: supported: gelu_new, gelu_pytorch_tanh, gelu, silu\n"
      "m.json:/scale_attn_weights: not supported: attention scores without 1/sqrt(head size)\n"
      "m.json:/scale_attn_by_inverse_layer_idx: not supported: attention scaled by the "
      "layer's number\n"
      "m.json: n_embd 770 does not divide by n_head 12\n"
      "m.json:/quantization_config: not supported: quantised weights");
  EXPECT_EQ(llama_with(R"({"attention_bias": true, "mlp_bias": true, "sliding_window": 4096,
                          "rope_scaling": {"rope_type": "llama4", "factor": 8}, "head_dim": 65,
                          "num_key_value_heads": 5, "num_experts": 8})"),
            "m.json:/attention_bias: not supported: biases in the attention's projections\n"
            "m.json:/mlp_bias: not supported: biases in the MLP's projections\n"
            "m.json:/rope_scaling: rotary type 'llama4' is not supported\n"
            "  hint: did you mean 'llama3'?\n"
            "m.json: num_attention_heads 32 does not divide by num_key_value_heads 5\n"
            "m.json: heads of odd size 65 cannot turn in pairs\n"
            "m.json:/num_experts: not supported: a mixture of experts\n"
            "m.json:/sliding_window: not supported: attention to a window of tokens");
  EXPECT_EQ(message_with("qwen2.5-0.5b.json", R"({"use_sliding_window": true})"),
            "m.json:/use_sliding_window: not supported: attention to a window of tokens");
}

TEST(Model, TakesWhatIsTheSameInOtherWords) {
  EXPECT_EQ(llama_with(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 500000},
                          "rope_theta": null, "sliding_window": null, "torch_dtype": "float16",
                          "num_experts": 1, "partial_rotary_factor": 1.0, "anything": [1]})"),
            "");
  EXPECT_EQ(gpt2_with(R"({"activation_function": "gelu_pytorch_tanh", "n_inner": 3072})"), "");
}

// Heads so many and wide that products of sizes would leave 64 bits.
TEST(Model, RefusesSizesWhoseProductsOverflow) {
  EXPECT_EQ(llama_with(R"({"num_attention_heads": 1000000, "num_key_value_heads": 1000000,
                          "head_dim": 1000000})"),
            "m.json: 1000000 heads of size 1000000 are wider than 10000000");
}

TEST(Model, RefusesSizesOutOfRange) {
  EXPECT_EQ(gpt2_with(R"({"n_layer": 0, "n_head": -1, "vocab_size": 1e99, "n_positions": null,
                          "n_embd": "768", "attn_pdrop": 2})"),
            "m.json:/n_layer: 0 is out of range\n"
            "  hint: allowed: 1 to 10000\n"
            "m.json:/n_embd: expected a whole number, found \"768\"\n"
            "m.json:/n_head: -1 is out of range\n"
            "  hint: allowed: 1 to 1000000\n"
            "m.json:/vocab_size: 1e+99 is out of range\n"
            "  hint: allowed: 1 to 100000000\n"
            "m.json: 'n_positions' is missing\n"
            "  hint: it holds a whole number\n"
            "m.json:/attn_pdrop: 2 is out of range\n"
            "  hint: allowed: 0 to 1");
}

RC_GTEST_PROP(Model, MutationsAreReadOrRefused, ()) {
  const std::string file = *rc::gen::element<std::string>(
      "gpt2-124m.json", "llama-3-8b-instruct.json", "../../../configs/models/deepseek-v3.json",
      "../../../configs/models/qwen3-30b-a3b.json");
  try {
    const Model model = read_model(mutated(data_file("models/" + file)), "m.json");
    RC_ASSERT(parameters(model) > 0);
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace penstock
