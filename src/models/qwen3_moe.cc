// Qwen 3 with experts in every layer, every n-th, or all but some (Qwen3MoeConfig,
// modeling_qwen3_moe.py of transformers).
#include <algorithm>

#include "models/family.h"
#include "models/llama_shape.h"

namespace penstock {
namespace {

constexpr PlainKey kPlain[] = {
    {"attention_bias", {"false", ""}, "biases in the attention's projections"},
};

// Of layers 0, 1, .. those n - 1, 2n - 1, .. have experts, n = decoder_sparse_step, unless
// mlp_only_layers names them.
std::vector<std::int32_t> read_dense_layers(const JsonReader& root, std::int32_t layers) {
  const std::int32_t step = size_or(root, "decoder_sparse_step", kMostLayers, 1);
  std::vector<std::int32_t> named;
  if (root.has("mlp_only_layers") && root.at("mlp_only_layers").is_array()) {
    const JsonReader list = root.at("mlp_only_layers");
    for (std::size_t i = 0; i < list.size(); ++i) {
      named.push_back(static_cast<std::int32_t>(list.at(i).as_integer({.max = kMostLayers})));
    }
  }
  std::ranges::sort(named);
  std::vector<std::int32_t> dense;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    const bool skipped = (layer + 1) % step != 0;
    if (skipped || std::ranges::binary_search(named, layer)) dense.push_back(layer);
  }
  return dense;
}

Model read(const JsonReader& root) {
  refuse_changed_maths(root, kPlain);
  Model model = read_llama_shape(root, Family::Qwen3Moe, {.kv_heads = 4});
  model.qk_norm = true;
  model.experts = MixtureOfExperts{
      .experts = size_or(root, "num_experts", kMostExperts, 128),
      .per_token = size_or(root, "num_experts_per_tok", kMostExperts, 8),
      .ffn = size_or(root, "moe_intermediate_size", kMostWidth, 768),
      .dense_layers = read_dense_layers(root, model.layers),
  };
  check_experts(root, model, "num_experts");
  return model;
}

void add_layer(const Model& model, std::int32_t block, const TensorList& layer) {
  if (!model.has_experts(block)) return add_dense_layer(model, block, layer);
  add_expert_layer(model, layer, {"mlp", "gate_proj", "up_proj", "down_proj"});
}

void add_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors) {
  add_llama_block(model, block, tensors, &add_layer);
}

}  // namespace

const FamilyRow kQwen3Moe = {Family::Qwen3Moe, "qwen3_moe", &read, &add_block};

}  // namespace penstock
