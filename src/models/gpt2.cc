// GPT-2: learned positions, LayerNorm, biases, one projection to queries, keys and values. Keys and
// defaults are GPT2Config's, tensors those of modeling_gpt2.py (both of transformers).
#include <fmt/format.h>

#include "models/config_keys.h"
#include "models/family.h"

namespace penstock {
namespace {

constexpr PlainKey kPlain[] = {
    {"scale_attn_weights", {"true", ""}, "attention scores without 1/sqrt(head size)"},
    {"scale_attn_by_inverse_layer_idx", {"false", ""}, "attention scaled by the layer's number"},
    {"add_cross_attention", {"false", ""}, "cross-attention"},
};

Model read(const JsonReader& root) {
  Model model;
  model.family = Family::Gpt2;
  model.layers = size(root, "n_layer", kMostLayers);
  model.hidden = size(root, "n_embd", kMostWidth);
  model.heads = size(root, "n_head", kMostWidth);
  model.kv_heads = model.heads;
  model.ffn = size_or(root, "n_inner", 10 * kMostWidth, 4 * std::int64_t{model.hidden});
  model.vocabulary = size(root, "vocab_size", kMostRows);
  model.max_positions = size(root, "n_positions", kMostRows);
  model.activation = read_activation(root, "activation_function", "gelu_new");
  model.tied_embeddings = root.boolean("tie_word_embeddings", true);
  model.norm_epsilon = root.number("layer_norm_epsilon", {.max = 1, .fallback = 1e-5});
  model.initializer_range = root.number("initializer_range", {.max = 10, .fallback = 0.02});
  note_dropout(root, {"attn_pdrop", "embd_pdrop", "resid_pdrop"}, model);
  refuse_changed_maths(root, kPlain);
  if (model.hidden % model.heads != 0) {
    root.problem(fmt::format("n_embd {} does not divide by n_head {}", model.hidden, model.heads));
  }
  model.head_size = model.hidden / model.heads;
  return model;
}

void add_layer(const Model& model, const TensorList& list) {
  const std::int64_t h = model.hidden;
  const auto norm = [&](const std::string& name) {
    list.add(name + ".weight", {h});
    list.add(name + ".bias", {h});
  };
  const auto projection = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    list.add(name + ".weight", {in, out});
    list.add(name + ".bias", {out});
  };
  norm("ln_1");
  projection("attn.c_attn", h, 3 * h);
  projection("attn.c_proj", h, h);
  norm("ln_2");
  projection("mlp.c_fc", h, model.ffn);
  projection("mlp.c_proj", model.ffn, h);
}

void add_block(const Model& model, std::int32_t block, std::vector<ModelTensor>& tensors) {
  const std::int64_t h = model.hidden;
  const TensorList list(tensors, "transformer.", block);
  if (block == 0) {
    list.add("wte.weight", {model.vocabulary, h});
    list.add("wpe.weight", {model.max_positions, h});
  } else if (model.is_layer(block)) {
    add_layer(model, list.below(fmt::format("h.{}", block - 1)));
  } else {
    list.add("ln_f.weight", {h});
    list.add("ln_f.bias", {h});
    if (model.tied_embeddings) return;
    TensorList(tensors, "", block).add("lm_head.weight", {model.vocabulary, h});
  }
}

}  // namespace

const FamilyRow kGpt2 = {Family::Gpt2, "gpt2", &read, &add_block};

}  // namespace penstock
