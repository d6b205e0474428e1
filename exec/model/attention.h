// File: attention.h. Causal attention with grouped queries: no weights of its own.
#pragma once

#include <cmath>
#include <cstddef>

#include "model/gemm.h"
#include "model/kernels/softmax.h"
#include "model/matrix.h"

namespace penstock {

// A row of `qkv` is one token: `heads` query heads, then `kv_heads` key heads, then as many value
// heads, each head_size wide. Query head i attends with key head i / (heads / kv_heads). Rows come
// in sequences of `tokens`.
template <class T>
struct Attention {
  int heads = 0;
  int kv_heads = 0;
  int head_size = 0;
  int tokens = 0;

  int qkv_columns() const { return (heads + 2 * kv_heads) * head_size; }
  // Values of `probabilities` per sequence: kept for the backward.
  std::size_t probability_values() const {
    return static_cast<std::size_t>(heads) * static_cast<std::size_t>(tokens) *
           static_cast<std::size_t>(tokens);
  }

  // y: heads * head_size columns.
  void forward(Matrix<const T> qkv, T* probabilities, Matrix<T> y) const {
    for (int sequence = 0; sequence < qkv.rows / tokens; ++sequence) {
      for (int head = 0; head < heads; ++head) {
        const Matrix<T> p = probability(probabilities, sequence, head);
        gemm(query(qkv, sequence, head), Transpose::No, key(qkv, sequence, head), Transpose::Yes, p,
             Accumulate::No, scale());
        causal_softmax(p);
        gemm(p, Transpose::No, value(qkv, sequence, head), Transpose::No, query(y, sequence, head),
             Accumulate::No);
      }
    }
  }

  // dqkv from dy; `scratch` holds tokens * tokens values.
  void backward_input(Matrix<const T> qkv, const T* probabilities, Matrix<const T> dy, T* scratch,
                      Matrix<T> dqkv) const {
    const int group = heads / kv_heads;
    const Matrix<T> ds(scratch, tokens, tokens);
    for (int sequence = 0; sequence < qkv.rows / tokens; ++sequence) {
      for (int head = 0; head < heads; ++head) {
        const auto sum = head % group == 0 ? Accumulate::No : Accumulate::Yes;
        const Matrix<const T> p = probability(probabilities, sequence, head);
        const Matrix<const T> dout = query(dy, sequence, head);
        gemm(p, Transpose::Yes, dout, Transpose::No, value(dqkv, sequence, head), sum);
        gemm(dout, Transpose::No, value(qkv, sequence, head), Transpose::Yes, ds, Accumulate::No);
        causal_softmax_backward(p, scale(), ds);
        gemm(ds, Transpose::No, key(qkv, sequence, head), Transpose::No,
             query(dqkv, sequence, head), Accumulate::No);
        gemm(ds, Transpose::Yes, query(qkv, sequence, head), Transpose::No,
             key(dqkv, sequence, head), sum);
      }
    }
  }

 private:
  T scale() const { return T(1) / std::sqrt(T(head_size)); }

  template <class V>
  Matrix<V> probability(V* probabilities, int sequence, int head) const {
    const auto square = static_cast<std::ptrdiff_t>(tokens) * tokens;
    const auto index = static_cast<std::ptrdiff_t>(sequence) * heads + head;
    return {probabilities + index * square, tokens, tokens};
  }
  template <class V>
  Matrix<V> columns(Matrix<V> x, int sequence, int column_head) const {
    return x.row_range(sequence * tokens, tokens).column_range(column_head * head_size, head_size);
  }
  template <class V>
  Matrix<V> query(Matrix<V> x, int sequence, int head) const {
    return columns(x, sequence, head);
  }
  template <class V>
  Matrix<V> key(Matrix<V> x, int sequence, int head) const {
    return columns(x, sequence, heads + head * kv_heads / heads);
  }
  template <class V>
  Matrix<V> value(Matrix<V> x, int sequence, int head) const {
    return columns(x, sequence, heads + kv_heads + head * kv_heads / heads);
  }
};

}  // namespace penstock
