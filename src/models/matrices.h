// File: matrices.h. The weight matrices of a block, as one device holds them. Work and memory both
// follow from this list.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/flops.h"

namespace penstock {

constexpr std::int64_t divided(std::int64_t size, std::int64_t by) {
  return (size + by - 1) / by;
}

// What tensor parallelism cuts: nothing, outputs, inputs.
enum class Cut : std::uint8_t { None, Columns, Rows };

struct Matrix {
  ProductUse use;
  Cut cut = Cut::None;
  std::int64_t in = 0;  // of the device's share
  std::int64_t out = 0;
  bool bias = false;
  std::int64_t copies = 1;  // experts on the device; as often as a head is used
  bool is_expert = false;
};

// Products with the head are counted once per loss: `copies` uses of one matrix.
std::vector<Matrix> matrices(const Model& model, std::int32_t block, const Parallel& parallel);

// Heads on one device, and the widths of a query or key and of a value.
struct HeadShapes {
  std::int64_t queries = 0;
  std::int64_t keys = 0;  // key-value heads; for latent attention each head has its own
  std::int64_t key_size = 0;
  std::int64_t value_size = 0;
};
HeadShapes head_shapes(const Model& model, const Parallel& parallel);

// Tokens of a range on one device: where it has whole rows of them, and between the matrices, where
// sequence parallelism cuts once more.
std::int64_t tokens_in(const TokenRange& range, const Parallel& parallel);
std::int64_t tokens_between(const TokenRange& range, const Parallel& parallel);
// (token, expert) pairs on one device, over all experts there.
double tokens_of_experts(const Model& model, const TokenRange& range, const Parallel& parallel);

}  // namespace penstock
