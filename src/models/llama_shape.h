// File: llama_shape.h. What the families that descend from Llama share: rotary positions, RMSNorm,
// separate projections, SwiGLU.
#pragma once

#include <string>

#include "models/config_keys.h"
#include "models/tensor_list.h"

namespace penstock {

// What a file may leave out, where the families differ.
struct LlamaDefaults {
  double rope_theta = 10000;
  double norm_epsilon = 1e-6;
  std::int32_t kv_heads = 0;   // 0: as many as heads
  std::int32_t head_size = 0;  // 0: hidden / heads
};

// Sizes and choices under Llama's keys.
Model read_llama_shape(const JsonReader& root, Family family, const LlamaDefaults& defaults = {});

// Reports more experts in all layers than kMostExperts, and more per token than there are.
void check_experts(const JsonReader& root, const Model& model, std::string_view experts_key);

// q_proj, k_proj, v_proj, o_proj, with biases and norms of queries and keys where the model has
// them, below "self_attn".
void add_attention(const Model& model, const TensorList& layer);

// gate_proj, up_proj, down_proj.
void add_mlp(const Model& model, std::int64_t ffn, const TensorList& list);

struct ExpertNames {
  const char* below;  // of the layer
  const char* gate;
  const char* up;
  const char* down;
};
// A layer whose MLP is a router, "gate", and experts: norm, attention, norm, experts.
void add_expert_layer(const Model& model, const TensorList& layer, const ExpertNames& names);

// The experts of a layer below "experts", with the names of the three matrices.
void add_experts(const Model& model, const TensorList& list, const std::string& gate,
                 const std::string& up, const std::string& down);

// The blocks E, layers and L; `add_layer` is called with the layer's list ("model.layers.3.").
void add_llama_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors,
                     void (*add_layer)(const Model& model, std::int32_t block,
                                       const TensorList& layer));

// A layer with attention as above and an MLP.
void add_dense_layer(const Model& model, std::int32_t block, const TensorList& layer);
void add_dense_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors);

}  // namespace penstock
