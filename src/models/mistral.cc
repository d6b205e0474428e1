// Mistral: Llama with other defaults (MistralConfig, modeling_mistral.py of transformers). Files
// that ask for attention to a window of tokens are refused.
#include "models/family.h"
#include "models/llama_shape.h"

namespace penstock {
namespace {

Model read(const JsonReader& root) {
  return read_llama_shape(root, Family::Mistral, {.kv_heads = 8});
}

}  // namespace

const FamilyRow kMistral = {Family::Mistral, "mistral", &read, &add_dense_block};

}  // namespace penstock
