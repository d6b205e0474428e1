// Qwen 3: Llama whose heads norm their queries and keys (Qwen3Config, modeling_qwen3.py of
// transformers).
#include "models/family.h"
#include "models/llama_shape.h"

namespace penstock {
namespace {

constexpr PlainKey kPlain[] = {
    {"attention_bias", {"false", ""}, "biases in the attention's projections"},
};

Model read(const JsonReader& root) {
  refuse_changed_maths(root, kPlain);
  Model model = read_llama_shape(root, Family::Qwen3, {.kv_heads = 32, .head_size = 128});
  model.qk_norm = true;
  return model;
}

}  // namespace

const FamilyRow kQwen3 = {Family::Qwen3, "qwen3", &read, &add_dense_block};

}  // namespace penstock
