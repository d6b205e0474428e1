// File: saved.h. The tensors that a block's forward leaves for its backward.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/footprint.h"

namespace penstock {

struct Saved {
  std::int64_t bytes = 0;   // on one device
  bool is_core = false;     // made between queries, keys, values and attention's output
  bool for_weight = false;  // a matrix's input, which the weight gradient reads
};

std::vector<Saved> saved_tensors(const Model& model, std::int32_t block, const TokenRange& range,
                                 const Parallel& parallel, const FootprintChoice& choice);

// The gradients of the matrices' outputs, which wait with those inputs for W.
std::int64_t output_gradient_bytes(const Model& model, std::int32_t block, const TokenRange& range,
                                   const Parallel& parallel, const FootprintChoice& choice);

}  // namespace penstock
