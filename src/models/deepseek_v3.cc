// DeepSeek-V3: latent attention, experts behind the first dense layers, multi-token prediction
// (configuration_deepseek.py, modeling_deepseek.py and README_WEIGHTS.md of
// deepseek-ai/DeepSeek-V3; DeepseekV3Config of transformers).
#include <numeric>

#include <fmt/format.h>

#include "models/family.h"
#include "models/llama_shape.h"

namespace penstock {
namespace {

constexpr PlainKey kPlain[] = {
    {"attention_bias", {"false", ""}, "biases in the attention's projections"},
    {"moe_layer_freq", {"1", ""}, "experts in some of the layers behind the dense ones"},
    {"scoring_func", {"\"sigmoid\"", ""}, "another score of the router"},
    {"topk_method", {"\"noaux_tc\"", ""}, "another choice of experts"},
};

LatentAttention read_latent(const JsonReader& root) {
  return {
      .query_rank = root.has("q_lora_rank") ? size(root, "q_lora_rank", kMostWidth) : 0,
      .kv_rank = size(root, "kv_lora_rank", kMostWidth),
      .nope_size = size(root, "qk_nope_head_dim", kMostWidth),
      .rope_size = size(root, "qk_rope_head_dim", kMostWidth),
      .value_size = size(root, "v_head_dim", kMostWidth),
  };
}

void check_latent(const JsonReader& root, const Model& model) {
  const LatentAttention& latent = *model.latent;
  if (latent.rope_size % 2 != 0) {
    root.problem(fmt::format("heads of odd size {} cannot turn in pairs", latent.rope_size));
  }
  const std::int64_t widest = std::int64_t{model.head_size} + latent.value_size;
  if (model.heads * widest > 10 * kMostWidth) {
    root.problem(
        fmt::format("{} heads of size {} are wider than {}", model.heads, widest, 10 * kMostWidth));
  }
}

MixtureOfExperts read_experts(const JsonReader& root, std::int32_t layers) {
  const std::int64_t ffn = size(root, "moe_intermediate_size", kMostWidth);
  const std::int64_t shared = root.integer("n_shared_experts", {.max = 1000});
  const auto dense = static_cast<std::int32_t>(
      root.integer("first_k_dense_replace", {.max = layers, .fallback = 0}));
  MixtureOfExperts experts{
      .experts = size(root, "n_routed_experts", kMostExperts),
      .per_token = size(root, "num_experts_per_tok", kMostExperts),
      .ffn = static_cast<std::int32_t>(ffn),
      .shared_ffn = static_cast<std::int32_t>(shared * ffn),
      .selection_bias = true,
      .dense_layers = std::vector<std::int32_t>(static_cast<std::size_t>(dense)),
  };
  std::iota(experts.dense_layers.begin(), experts.dense_layers.end(), 0);
  return experts;
}

Model read(const JsonReader& root) {
  refuse_changed_maths(root, kPlain);
  const LatentAttention latent = read_latent(root);
  const std::int32_t head_size = latent.nope_size + latent.rope_size;
  Model model = read_llama_shape(root, Family::DeepseekV3, {.head_size = head_size});
  model.head_size = head_size;  // transformers writes the rotary part alone as head_dim
  model.latent = latent;
  model.experts = read_experts(root, model.layers);
  model.mtp_depth = static_cast<std::int32_t>(
      root.integer("num_nextn_predict_layers", {.max = kMostPredictions}));
  check_latent(root, model);
  check_experts(root, model, "n_routed_experts");
  return model;
}

void add_latent_attention(const Model& model, const TensorList& layer) {
  const LatentAttention& latent = *model.latent;
  const std::int64_t h = model.hidden;
  const std::int64_t heads = model.heads;
  const std::int64_t query = heads * model.head_size;
  const TensorList list = layer.below("self_attn");
  if (latent.query_rank > 0) {
    list.add("q_a_proj.weight", {latent.query_rank, h});
    list.add("q_a_layernorm.weight", {latent.query_rank});
    list.add("q_b_proj.weight", {query, latent.query_rank});
  } else {
    list.add("q_proj.weight", {query, h});
  }
  list.add("kv_a_proj_with_mqa.weight", {latent.kv_rank + latent.rope_size, h});
  list.add("kv_a_layernorm.weight", {latent.kv_rank});
  list.add("kv_b_proj.weight", {heads * (latent.nope_size + latent.value_size), latent.kv_rank});
  list.add("o_proj.weight", {h, heads * latent.value_size});
}

void add_expert_mlp(const Model& model, const TensorList& list) {
  const MixtureOfExperts& moe = *model.experts;
  list.add("gate.weight", {moe.experts, model.hidden});
  if (moe.selection_bias) list.add("gate.e_score_correction_bias", {moe.experts});
  add_experts(model, list, "gate_proj", "up_proj", "down_proj");
  if (moe.shared_ffn > 0) add_mlp(model, moe.shared_ffn, list.below("shared_experts"));
}

void add_layer(const Model& model, std::int32_t block, const TensorList& layer) {
  const std::int64_t h = model.hidden;
  if (model.is_prediction(block)) {
    layer.add("enorm.weight", {h});
    layer.add("hnorm.weight", {h});
    layer.add("eh_proj.weight", {h, 2 * h});
  }
  layer.add("input_layernorm.weight", {h});
  add_latent_attention(model, layer);
  layer.add("post_attention_layernorm.weight", {h});
  if (model.has_experts(block)) {
    add_expert_mlp(model, layer.below("mlp"));
  } else {
    add_mlp(model, model.ffn, layer.below("mlp"));
  }
  if (model.is_prediction(block)) layer.add("shared_head.norm.weight", {h});
}

void add_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors) {
  add_llama_block(model, block, tensors, &add_layer);
}

}  // namespace

const FamilyRow kDeepseekV3 = {Family::DeepseekV3, "deepseek_v3", &read, &add_block};

}  // namespace penstock
