// File: initial_values.h. What training starts from.
#pragma once

#include <cstdint>
#include <span>

#include "penstock/model.h"

namespace penstock {

// Fills one tensor as transformers' _init_weights does: matrices normal with initializer_range,
// GPT-2's residual projections (c_proj) divided by sqrt(2 layers), biases 0, norm weights 1.
// Depends on (seed, tensor name, element) alone, never on how the model is split.
void fill_initial(const Model& model, const ModelTensor& tensor, std::uint64_t seed,
                  std::span<float> values);

}  // namespace penstock
