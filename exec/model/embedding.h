// File: embedding.h. Token embedding, plus learned positions where the model has them.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/rows.h"
#include "model/parameter.h"

namespace penstock {

// The first block: it has no input gradient, so I has nothing to do here.
template <class T>
struct Embedding {
  int tokens = 0;         // per sequence
  Parameter<T> token;     // [vocabulary, hidden]
  Parameter<T> position;  // [max_positions, hidden], or null

  void forward(std::span<const std::int32_t> ids, Matrix<T> y) const {
    look_up(ids, tokens, token.value, position.value, y);
  }

  void backward_weight(std::span<const std::int32_t> ids, Matrix<const T> dy) const {
    look_up_backward(ids, tokens, dy, token.gradient, position.gradient);
  }
};

}  // namespace penstock
