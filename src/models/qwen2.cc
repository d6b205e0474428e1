// Qwen 2 and 2.5: Llama with biases in the projections to queries, keys and values (Qwen2Config,
// modeling_qwen2.py of transformers).
#include "models/family.h"
#include "models/llama_shape.h"

namespace penstock {
namespace {

constexpr PlainKey kPlain[] = {
    {"use_mrope", {"false", ""}, "rotary positions of several dimensions"},
};

Model read(const JsonReader& root) {
  refuse_changed_maths(root, kPlain);
  Model model = read_llama_shape(root, Family::Qwen2, {.kv_heads = 32});
  model.qkv_bias = true;
  return model;
}

}  // namespace

const FamilyRow kQwen2 = {Family::Qwen2, "qwen2", &read, &add_dense_block};

}  // namespace penstock
