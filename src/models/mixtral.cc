// Mixtral: Mistral with experts in every layer (MixtralConfig, modeling_mixtral.py of
// transformers; names as in the published checkpoints).
#include "models/family.h"
#include "models/llama_shape.h"

namespace penstock {
namespace {

Model read(const JsonReader& root) {
  Model model = read_llama_shape(root, Family::Mixtral,
                                 {.rope_theta = 1e6, .norm_epsilon = 1e-5, .kv_heads = 8});
  model.experts = MixtureOfExperts{
      .experts = size_or(root, "num_local_experts", kMostExperts, 8),
      .per_token = size_or(root, "num_experts_per_tok", kMostExperts, 2),
      .ffn = size(root, "intermediate_size", kMostWidth),
  };
  check_experts(root, model, "num_local_experts");
  return model;
}

void add_layer(const Model& model, std::int32_t /*block*/, const TensorList& layer) {
  add_expert_layer(model, layer, {"block_sparse_moe", "w1", "w3", "w2"});
}

void add_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors) {
  add_llama_block(model, block, tensors, &add_layer);
}

}  // namespace

const FamilyRow kMixtral = {Family::Mixtral, "mixtral", &read, &add_block};

}  // namespace penstock
