#include "models/llama_shape.h"

#include <algorithm>

#include <fmt/format.h>

namespace penstock {
namespace {

void check_heads(const JsonReader& root, const Model& model) {
  if (model.heads % model.kv_heads != 0) {
    root.problem(fmt::format("num_attention_heads {} does not divide by num_key_value_heads {}",
                             model.heads, model.kv_heads));
  }
  if (!root.has("head_dim") && model.hidden % model.heads != 0) {
    root.problem(fmt::format("hidden_size {} does not divide by num_attention_heads {}",
                             model.hidden, model.heads));
  } else if (model.head_size % 2 != 0) {
    root.problem(fmt::format("heads of odd size {} cannot turn in pairs", model.head_size));
  }
  if (std::int64_t{model.heads} * model.head_size > 10 * kMostWidth) {
    root.problem(fmt::format("{} heads of size {} are wider than {}", model.heads, model.head_size,
                             10 * kMostWidth));
  }
}

}  // namespace

Model read_llama_shape(const JsonReader& root, Family family, const LlamaDefaults& defaults) {
  Model model;
  model.family = family;
  model.layers = size(root, "num_hidden_layers", kMostLayers);
  model.hidden = size(root, "hidden_size", kMostWidth);
  model.heads = size(root, "num_attention_heads", kMostWidth);
  model.kv_heads = size_or(root, "num_key_value_heads", kMostWidth,
                           defaults.kv_heads > 0 ? defaults.kv_heads : model.heads);
  const std::int32_t usual_head = std::max(1, model.hidden / model.heads);
  model.head_size = size_or(root, "head_dim", kMostWidth,
                            defaults.head_size > 0 ? defaults.head_size : usual_head);
  model.ffn = size(root, "intermediate_size", 10 * kMostWidth);
  model.vocabulary = size(root, "vocab_size", kMostRows);
  model.max_positions = size(root, "max_position_embeddings", kMostRows);
  model.norm = Norm::RmsNorm;
  model.activation = read_activation(root, "hidden_act", "silu");
  model.gated_mlp = true;
  model.positions = Positions::Rotary;
  read_rope(root, defaults.rope_theta, model);
  model.tied_embeddings = root.boolean("tie_word_embeddings", false);
  model.linear_bias = false;
  model.norm_epsilon = root.number("rms_norm_eps", {.max = 1, .fallback = defaults.norm_epsilon});
  model.initializer_range = root.number("initializer_range", {.max = 10, .fallback = 0.02});
  note_dropout(root, {"attention_dropout"}, model);
  check_heads(root, model);
  return model;
}

void check_experts(const JsonReader& root, const Model& model, std::string_view experts_key) {
  const MixtureOfExperts& moe = *model.experts;
  if (moe.per_token > moe.experts) {
    root.problem(fmt::format("num_experts_per_tok {} is more than {} {}", moe.per_token,
                             experts_key, moe.experts));
  }
  const std::int64_t layers = std::int64_t{model.layers} + model.mtp_depth;
  if (layers * moe.experts > kMostExperts) {
    root.problem(fmt::format("{} layers with {} experts each are more than {} experts", layers,
                             moe.experts, kMostExperts));
  }
}

void add_attention(const Model& model, const TensorList& layer) {
  const std::int64_t h = model.hidden;
  const std::int64_t query = std::int64_t{model.heads} * model.head_size;
  const std::int64_t key = std::int64_t{model.kv_heads} * model.head_size;
  const TensorList list = layer.below("self_attn");
  const auto projection = [&](const std::string& name, std::int64_t out) {
    list.add(name + ".weight", {out, h});
    if (model.qkv_bias) list.add(name + ".bias", {out});
  };
  projection("q_proj", query);
  projection("k_proj", key);
  projection("v_proj", key);
  if (model.qk_norm) {
    list.add("q_norm.weight", {model.head_size});
    list.add("k_norm.weight", {model.head_size});
  }
  list.add("o_proj.weight", {h, query});
}

void add_mlp(const Model& model, std::int64_t ffn, const TensorList& list) {
  const std::int64_t h = model.hidden;
  if (model.gated_mlp) list.add("gate_proj.weight", {ffn, h});
  list.add("up_proj.weight", {ffn, h});
  list.add("down_proj.weight", {h, ffn});
}

void add_experts(const Model& model, const TensorList& list, const std::string& gate,
                 const std::string& up, const std::string& down) {
  const std::int64_t h = model.hidden;
  const std::int64_t ffn = model.experts->ffn;
  for (std::int32_t i = 0; i < model.experts->experts; ++i) {
    const TensorList expert = list.below(fmt::format("experts.{}", i));
    if (model.gated_mlp) expert.add(gate + ".weight", {ffn, h});
    expert.add(up + ".weight", {ffn, h});
    expert.add(down + ".weight", {h, ffn});
  }
}

void add_expert_layer(const Model& model, const TensorList& layer, const ExpertNames& names) {
  layer.add("input_layernorm.weight", {model.hidden});
  add_attention(model, layer);
  layer.add("post_attention_layernorm.weight", {model.hidden});
  const TensorList list = layer.below(names.below);
  list.add("gate.weight", {model.experts->experts, model.hidden});
  add_experts(model, list, names.gate, names.up, names.down);
}

void add_llama_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors,
                     void (*add_layer)(const Model& model, std::int32_t block,
                                       const TensorList& layer)) {
  const std::int64_t h = model.hidden;
  const TensorList list(tensors, "model.", block);
  if (block == 0) {
    list.add("embed_tokens.weight", {model.vocabulary, h});
  } else if (block < model.head_block()) {
    add_layer(model, block, list.below(fmt::format("layers.{}", block - 1)));
  } else {
    list.add("norm.weight", {h});
    if (model.tied_embeddings) return;
    TensorList(tensors, "", block).add("lm_head.weight", {model.vocabulary, h});
  }
}

void add_dense_layer(const Model& model, std::int32_t /*block*/, const TensorList& layer) {
  layer.add("input_layernorm.weight", {model.hidden});
  add_attention(model, layer);
  layer.add("post_attention_layernorm.weight", {model.hidden});
  add_mlp(model, model.ffn, layer.below("mlp"));
}

void add_dense_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors) {
  add_llama_block(model, block, tensors, &add_dense_layer);
}

}  // namespace penstock
