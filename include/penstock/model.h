// File: model.h. A transformer as its Hugging Face config.json describes it, untouched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.h"

namespace penstock {

enum class Norm : std::uint8_t { LayerNorm, RmsNorm };
enum class Activation : std::uint8_t { GeluTanh, Gelu, Silu };
enum class Positions : std::uint8_t { Learned, Rotary };
enum class Family : std::uint8_t { Gpt2, Llama };

// The sizes and choices that define the maths. Letters as in the literature: hidden h, layers L,
// vocabulary V, heads a.
struct Model {
  Family family = Family::Gpt2;
  std::int32_t layers = 0;
  std::int32_t hidden = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;  // < heads: grouped-query attention
  std::int32_t head_size = 0;
  std::int32_t ffn = 0;  // width of the MLP
  std::int32_t vocabulary = 0;
  std::int32_t max_positions = 0;
  Norm norm = Norm::LayerNorm;
  Activation activation = Activation::GeluTanh;
  bool gated_mlp = false;  // SwiGLU: down(act(gate x) * up x)
  Positions positions = Positions::Learned;
  double rope_theta = 10000;
  bool tied_embeddings = true;
  bool linear_bias = true;  // GPT-2 has biases, Llama none
  double norm_epsilon = 1e-5;
  double initializer_range = 0.02;
  std::vector<std::string> notes;  // what the file asks for and training leaves out (dropout)
  bool operator==(const Model&) const = default;
};

// Reads GPT-2- and Llama-family files ("model_type" gpt2 and llama). Keys that change the maths and
// are not supported are an error with the key's pointer; keys that do not are ignored. Throws Error
// with all problems.
Model read_model(std::string_view json, const std::string& where);

// One trained tensor, as Hugging Face names and shapes it.
struct ModelTensor {
  std::string name;                 // "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // GPT-2's projections are [in, out] (HF's Conv1D), all other
                                    // matrices [out, in]; vectors have one entry
  std::int32_t block = 0;           // as in split.h: 0 = E, 1 + i = layer i, layers + 1 = L
  bool decayed = false;             // by AdamW: matrices, embeddings included
  std::int64_t size() const;        // number of values
  bool operator==(const ModelTensor&) const = default;
};

// Every trained tensor once, in canonical order: by block, inside a block in the order of the
// forward pass (norm, attention, norm, MLP). A tied head is not listed: it is the embedding of
// block 0. Sums over tensors (norms, hashes that are not sorted by name) follow this order.
// HF's names: modeling_gpt2.py and modeling_llama.py of transformers.
std::vector<ModelTensor> model_tensors(const Model& model);

// Number of trained values, tied ones once: the sum over model_tensors. gpt2: 124439808;
// llama-3-8b: 8030261248.
std::int64_t parameters(const Model& model);

}  // namespace penstock
