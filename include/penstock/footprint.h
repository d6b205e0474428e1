// File: footprint.h. The bytes of a model: weights, gradients and optimizer state, activations from
// forward to backward, messages between stages, caches of keys and values.
//
// Arithmetic on sizes, of tensors alone: what an allocator or a library adds is not in it. A GPT
// gives the closed forms of Korthikanti et al. (arXiv 2205.05198); other models follow from the
// tensors that their operations keep, listed in src/models/saved.cc. The functions are pure.
#pragma once

#include <cstdint>

#include "penstock/flops.h"
#include "penstock/model.h"
#include "penstock/parallel.h"
#include "penstock/recompute.h"

namespace penstock {

// What activations are held in. Fp8: as Fp16 and Bf16, but one byte for what the matrices of layers
// read (Transformer Engine).
enum class Precision : std::uint8_t { Fp32, Fp16, Bf16, Fp8 };
std::int64_t value_bytes(Precision precision);  // between stages and in norms: 4 or 2

// Bytes per trained value, before anything is sharded.
struct StateBytes {
  std::int32_t weights = 2;
  std::int32_t gradients = 4;
  std::int32_t optimizer = 12;  // Adam's moments, and the full-precision weights where others run
  bool operator==(const StateBytes&) const = default;
};

// All in single precision: 16 bytes.
inline constexpr StateBytes kFp32State = {4, 4, 8};
// Megatron-LM's distributed optimizer page: bf16 with gradients in fp32 18 bytes, fp16 with both
// gradients 20.
inline constexpr StateBytes kBf16State = {2, 4, 12};
inline constexpr StateBytes kFp16State = {2, 2, 16};
// ZeRO's K = 12 (arXiv 1910.02054): 16 bytes.
inline constexpr StateBytes kZeroState = {2, 2, 12};
// DeepSeek-V3 (arXiv 2412.19437, 3.3): weights in fp8, gradients and master weights in fp32,
// moments in bf16.
inline constexpr StateBytes kDeepseekFp8State = {1, 4, 8};

// How attention is computed: scores and probabilities as tensors, or in one kernel that keeps one
// number per query (FlashAttention, arXiv 2205.14135).
enum class AttentionKernel : std::uint8_t { Unfused, Flash };

struct FootprintChoice {
  Precision precision = Precision::Bf16;
  StateBytes state = kBf16State;
  RecomputeChoice recompute = RecomputeChoice::None;
  AttentionKernel attention = AttentionKernel::Flash;
  bool dropout = false;  // one byte per value that a mask covers
};

// On one device.
struct Footprint {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  // Under ZeRO 3 the block's weights, whole, while it runs; else 0.
  std::int64_t gathered_weights = 0;
  // Of one microbatch or slice: from F, or from R, to B or I; of these, what is kept from F to R
  // (without recomputation the same); from I to W.
  std::int64_t activations = 0;
  std::int64_t kept = 0;
  std::int64_t weight_pass = 0;

  std::int64_t state() const { return weights + gradients + optimizer; }
  Footprint& operator+=(const Footprint& other);
  bool operator==(const Footprint&) const = default;
};

// Of one block. Full recomputation keeps the input of each layer, selective all but what attention
// makes between its queries, keys and values and its output. ZeRO shards over the devices that hold
// the same values. REQUIRES: check_parallel() finds nothing.
Footprint footprint(const Model& model, std::int32_t block, const TokenRange& range,
                    const Parallel& parallel, const FootprintChoice& choice);

// Of the blocks [first, end), with the copy of the embedding that a part needs which does not hold
// E: for a tied head, and for the prediction modules.
Footprint part_footprint(const Model& model, std::int32_t first, std::int32_t end,
                         const TokenRange& range, const Parallel& parallel,
                         const FootprintChoice& choice);

// Trained values of a block on one device, before ZeRO: of experts, and of everything else.
struct TrainedValues {
  std::int64_t dense = 0;
  std::int64_t experts = 0;
};
TrainedValues trained_values(const Model& model, std::int32_t block, const Parallel& parallel);

// What one device sends over the boundary behind `block`, forward; the gradient backward is as
// large. Each of the tensor-parallel devices sends all of it, or with sequence parallelism or
// `scatter_gather` (arXiv 2104.04473, 4.1) its share. Behind a prediction module the hidden states
// of all losses so far travel.
std::int64_t boundary_bytes(const Model& model, std::int32_t block, const TokenRange& range,
                            const Parallel& parallel, Precision precision,
                            bool scatter_gather = false);

// Keys and values of the tokens of `range` in one block, which later slices of the sequence need:
// as they enter attention, or, for latent attention, as latent vectors.
enum class CachedAs : std::uint8_t { KeysAndValues, Latent };
std::int64_t kv_cache_bytes(const Model& model, std::int32_t block, const TokenRange& range,
                            const Parallel& parallel, Precision precision,
                            CachedAs cached = CachedAs::KeysAndValues);

// The logits of one loss, in single precision.
std::int64_t logits_bytes(const Model& model, const TokenRange& range, const Parallel& parallel);

}  // namespace penstock
