// Llama 1 to 3. Keys and defaults are LlamaConfig's, tensors those of modeling_llama.py
// (transformers).
#include "models/family.h"
#include "models/llama_shape.h"

namespace penstock {
namespace {

constexpr PlainKey kPlain[] = {
    {"attention_bias", {"false", ""}, "biases in the attention's projections"},
    {"mlp_bias", {"false", ""}, "biases in the MLP's projections"},
};

Model read(const JsonReader& root) {
  refuse_changed_maths(root, kPlain);
  return read_llama_shape(root, Family::Llama);
}

}  // namespace

const FamilyRow kLlama = {Family::Llama, "llama", &read, &add_dense_block};

}  // namespace penstock
