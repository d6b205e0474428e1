// File: tiny_models.h. Small models of every shape that is trained.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "penstock/model.h"

namespace penstock::testing {

// GPT-2's shape: learned positions, LayerNorm, biases, GELU, tied embeddings.
inline Model tiny_gpt2(std::int32_t layers = 2) {
  Model model;
  model.layers = layers;
  model.hidden = 12;
  model.heads = 3;
  model.kv_heads = 3;
  model.head_size = 4;
  model.ffn = 20;
  model.vocabulary = 19;
  model.max_positions = 8;
  return model;
}

// Llama's shape: rotary positions, RMSNorm, no biases, SwiGLU, grouped queries, untied.
inline Model tiny_llama(std::int32_t layers = 2) {
  Model model = tiny_gpt2(layers);
  model.family = Family::Llama;
  model.hidden = 16;
  model.heads = 4;
  model.kv_heads = 2;
  model.norm = Norm::RmsNorm;
  model.activation = Activation::Silu;
  model.gated_mlp = true;
  model.positions = Positions::Rotary;
  model.tied_embeddings = false;
  model.linear_bias = false;
  return model;
}

struct NamedModel {
  std::string name;
  Model model;
};

inline void PrintTo(const NamedModel& model, std::ostream* out) {
  *out << model.name;
}

inline std::vector<NamedModel> all_tiny_models() {
  std::vector<NamedModel> models{{"gpt2_tied", tiny_gpt2()}, {"llama_untied", tiny_llama()}};
  models.push_back({"gpt2_untied", tiny_gpt2()});
  models.back().model.tied_embeddings = false;
  models.push_back({"llama_tied", tiny_llama()});
  models.back().model.tied_embeddings = true;
  models.push_back({"gpt2_erf", tiny_gpt2()});
  models.back().model.activation = Activation::Gelu;
  models.push_back({"llama_one_kv_head", tiny_llama()});
  models.back().model.kv_heads = 1;
  models.back().model.head_size = 6;  // heads wider than hidden / heads
  return models;
}

}  // namespace penstock::testing
