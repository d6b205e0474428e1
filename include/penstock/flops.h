// File: flops.h. The arithmetic of a model: as matrix products of known shape, and as the totals
// that published numbers are computed with.
//
// All of it follows from sizes; nothing is measured. A multiplication and an addition are two
// floating-point operations; norms, activations, softmax and the optimizer are not counted, here as
// in the literature. The functions are pure.
//
//   const Model model = read_model(...);
//   for (std::int32_t block = 0; block < model.blocks(); ++block)
//     forward += flops(products(model, block, {.tokens = 2048}, {}, Pass::Forward));
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/model.h"
#include "penstock/parallel.h"
#include "penstock/recompute.h"

namespace penstock {

// How many (query, key) pairs attention forms: all, or those that a causal mask leaves, for which
// the literature takes one half. What runs depends on the kernel, what is published on the source.
enum class AttentionFlops : std::uint8_t { Full, Causal };

// F, and the two halves of B: I and W (op.h).
enum class Pass : std::uint8_t { Forward, InputGradient, WeightGradient };

enum class ProductUse : std::uint8_t {
  QueryKeyValue,  // one product, as fused
  QueryDown,      // latent attention's projections, to the latent and from it
  QueryUp,
  KeyValueDown,
  KeyValueUp,
  Scores,  // queries by keys
  Values,  // attention probabilities by values
  AttentionOut,
  MlpUp,  // gate and up as one
  MlpDown,
  Router,
  ExpertUp,
  ExpertDown,
  SharedUp,  // of the experts that every token visits
  SharedDown,
  PredictionIn,  // hidden state and next token's embedding, multi-token prediction
  Head,
};
std::string_view name(ProductUse use);  // "query_key_value"

// [m, k] times [k, n].
struct MatrixProduct {
  ProductUse use;
  Pass pass;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t count = 1;  // of this shape side by side: per head and sequence, per expert
  // What is formed of it: one half under a causal mask; less than 1 too where tokens do not divide
  // by experts and m is rounded up.
  double share = 1;

  double flops() const;
  bool operator==(const MatrixProduct&) const = default;
};

double flops(std::span<const MatrixProduct> products);

// A microbatch, or a slice of it: `tokens` of each of its sequences, behind `first` others.
struct TokenRange {
  std::int64_t sequences = 1;
  std::int64_t first = 0;
  std::int64_t tokens = 1;
};

// What one device runs for a block and token range in one pass. Tensor parallelism as in
// Megatron-LM: columns of the first matrix of a pair, rows of the second, heads and vocabulary;
// the router and latent attention's way down are not cut, and each device has all tokens of them
// unless parallel.sequence. Tokens spread evenly over experts. The attention's products have no
// weights and belong to the input gradient. REQUIRES: check_parallel() finds nothing.
std::vector<MatrixProduct> products(const Model& model, std::int32_t block, const TokenRange& range,
                                    const Parallel& parallel, Pass pass,
                                    AttentionFlops attention = AttentionFlops::Causal);

// What recomputation runs again of it before the backward, of layers and prediction modules: the
// scores and values under Selective, the whole forward under Full (Korthikanti et al.).
std::vector<MatrixProduct> remade_products(const Model& model, std::int32_t block,
                                           const TokenRange& range, const Parallel& parallel,
                                           RecomputeChoice recompute,
                                           AttentionFlops attention = AttentionFlops::Causal);

// What FlashAttention's backward makes again in any case, the scores (arXiv 2205.14135): 5 products
// where the forward has 2. No published total counts it.
std::vector<MatrixProduct> flash_remade_products(const Model& model, std::int32_t block,
                                                 const TokenRange& range, const Parallel& parallel,
                                                 AttentionFlops attention = AttentionFlops::Causal);

// What published TFLOP/s and utilisations count, per sequence of s tokens. N is the number of
// parameters that a token is multiplied with (active experts, the head, not the embedding), N_l of
// those in layers, L layers of width h; 12 L h s^2 stands for attention: 3 x 4 x heads x head size.
enum class FlopConvention : std::uint8_t {
  ModelFull,          // s (6N + 12 L h s)
  ModelCausal,        // s (6N + 6 L h s)
  HardwareFull,       // s (8 N_l + 6 N_head + 16 L h s): each layer's forward twice
  HardwareSelective,  // s (6N + 24 L h s)
};

struct FlopConventionEntry {
  FlopConvention convention;
  std::string_view name;     // "model_full"
  std::string_view formula;  // of a GPT with 4h wide MLPs, B sequences, as its source prints it
  std::string_view sources;  // who counts so
};

// All of them in the enumeration's order.
std::span<const FlopConventionEntry> flop_conventions();

// Of one sequence of `sequence` tokens on the whole model: times the sequences of a step, over its
// time and the number of devices, it is the published FLOP/s.
//   model_flops(gpt3_175b, 2048, FlopConvention::HardwareFull)   Megatron SC'21, eq. 3 with B = 1
double model_flops(const Model& model, std::int64_t sequence, FlopConvention convention);

}  // namespace penstock
