// File: embedding.h. Token embedding, plus learned positions where the model has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/kernels/rows.h"
#include "model/parameter.h"
#include "model/token_slice.h"

namespace penstock {

// The first block: it has no input gradient, so I has nothing to do here.
template <class T>
struct Embedding {
  Parameter<T> token;     // [vocabulary, hidden]
  Parameter<T> position;  // [max_positions, hidden], or null

  void forward(const TokenSlice& slice, std::span<const std::int32_t> ids, Matrix<T> y) const {
    look_up(ids, slice.tokens, token.value(), from(slice, y.columns, position.value()), y);
  }

  void backward_weight(const TokenSlice& slice, std::span<const std::int32_t> ids,
                       Matrix<const T> dy) const {
    look_up_backward(ids, slice.tokens, dy, token.gradient(),
                     from(slice, dy.columns, position.gradient()));
  }

 private:
  // The slice's part of a table of positions.
  template <class V>
  static V* from(const TokenSlice& slice, int hidden, V* table) {
    if (table == nullptr) return nullptr;
    return table + static_cast<std::ptrdiff_t>(slice.first) * hidden;
  }
};

}  // namespace penstock
