// File: model.h. A transformer as its Hugging Face config.json describes it, untouched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.h"

namespace penstock {

enum class Norm : std::uint8_t { LayerNorm, RmsNorm };
enum class Activation : std::uint8_t { GeluTanh, Gelu, Silu };
enum class Positions : std::uint8_t { Learned, Rotary };
// By "model_type" of the file; src/models/ has one source file each.
enum class Family : std::uint8_t {
  Gpt2,
  Llama,
  Mistral,
  Qwen2,
  Qwen3,
  Mixtral,
  Qwen3Moe,
  DeepseekV3
};

// Experts in place of the MLP: a router sends each token to `per_token` of them.
struct MixtureOfExperts {
  std::int32_t experts = 0;                // routed ones
  std::int32_t per_token = 0;              // of these
  std::int32_t ffn = 0;                    // width of one routed expert
  std::int32_t shared_ffn = 0;             // width of what every token visits; 0: nothing
  bool selection_bias = false;             // a bias per expert that balances the load
  std::vector<std::int32_t> dense_layers;  // layers that keep the MLP, ascending
  bool operator==(const MixtureOfExperts&) const = default;
};

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries, and keys and values
// together, are made from latent vectors of a small rank; of each key `rope_size` values carry the
// position and are the same for all heads.
struct LatentAttention {
  std::int32_t query_rank = 0;  // 0: queries straight from the hidden state
  std::int32_t kv_rank = 0;
  std::int32_t nope_size = 0;  // of a query or key, without position
  std::int32_t rope_size = 0;
  std::int32_t value_size = 0;
  bool operator==(const LatentAttention&) const = default;
};

// The sizes and choices that define the maths. Letters as in the literature: hidden h, layers L,
// vocabulary V, heads a.
struct Model {
  Family family = Family::Gpt2;
  std::int32_t layers = 0;
  std::int32_t hidden = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;   // < heads: grouped-query attention
  std::int32_t head_size = 0;  // of a query and a key; of a value, too, but for latent attention
  std::int32_t ffn = 0;        // width of the MLP
  std::int32_t vocabulary = 0;
  std::int32_t max_positions = 0;
  Norm norm = Norm::LayerNorm;
  Activation activation = Activation::GeluTanh;
  bool gated_mlp = false;  // SwiGLU: down(act(gate x) * up x)
  Positions positions = Positions::Learned;
  double rope_theta = 10000;
  std::string rope_scaling;  // how positions are stretched: "yarn", "llama3"; empty: not
  bool tied_embeddings = true;
  bool linear_bias = true;  // GPT-2 has biases, Llama none
  bool qkv_bias = false;    // Qwen2: in the projections to queries, keys and values alone
  bool qk_norm = false;     // Qwen3: each head's query and key are normed
  double norm_epsilon = 1e-5;
  double initializer_range = 0.02;
  std::optional<MixtureOfExperts> experts = {};
  std::optional<LatentAttention> latent = {};
  // Multi-token prediction modules behind the last layer (DeepSeek-V3, arXiv 2412.19437, 2.2): each
  // joins the hidden state with the embedding of the next token, and has a layer and a loss.
  std::int32_t mtp_depth = 0;
  std::vector<std::string> notes;  // what the file asks for and training leaves out (dropout)

  // Blocks as in split.h: 0 = E, 1 + i = layer i, then the prediction modules, last L.
  std::int32_t blocks() const { return layers + mtp_depth + 2; }
  std::int32_t head_block() const { return layers + mtp_depth + 1; }
  bool is_layer(std::int32_t block) const { return block > 0 && block <= layers; }
  bool is_prediction(std::int32_t block) const { return block > layers && block < head_block(); }
  // Whether a layer or prediction module has experts instead of the MLP.
  bool has_experts(std::int32_t block) const;
  bool operator==(const Model&) const = default;
};

// Reads the files of the families above as they are published. Keys that change the maths and are
// not supported are an error with the key's pointer; keys that do not are ignored. Throws Error
// with all problems; for a model_type that is not known, with the nearest and all that are.
Model read_model(std::string_view json, const std::string& where);

// The "model_type" of each family, in the enumeration's order.
std::vector<std::string_view> model_types();

// One trained tensor, as Hugging Face names and shapes it.
struct ModelTensor {
  std::string name;                 // "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // GPT-2's projections are [in, out] (HF's Conv1D), all other
                                    // matrices [out, in]; vectors have one entry
  std::int32_t block = 0;           // Model::blocks()
  bool decayed = false;             // by AdamW: matrices, embeddings included
  std::int64_t size() const;        // number of values
  bool operator==(const ModelTensor&) const = default;
};

// Every trained tensor once, in canonical order: by block, inside a block in the order of the
// forward pass (norm, attention, norm, MLP). A tied head is not listed: it is the embedding of
// block 0; nor are the embedding and head that prediction modules share with the model. Sums over
// tensors (norms, hashes that are not sorted by name) follow this order. Names and shapes are those
// of the published checkpoints.
std::vector<ModelTensor> model_tensors(const Model& model);

// The part of it that lies in one block. REQUIRES: 0 <= block < model.blocks().
std::vector<ModelTensor> block_tensors(const Model& model, std::int32_t block);

// Number of trained values, tied ones once, without the prediction modules: the size that models
// are published with. gpt2: 124439808; llama-3-8b: 8030261248; deepseek-v3: 671026419200.
std::int64_t parameters(const Model& model);

// Those that one token meets: of the routed experts `per_token`. mixtral-8x7b: 12879925248.
std::int64_t active_parameters(const Model& model);

// Those of the prediction modules alone, without the embedding and the head that they share.
std::int64_t prediction_parameters(const Model& model);

}  // namespace penstock
