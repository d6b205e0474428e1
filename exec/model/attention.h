// File: attention.h. Causal attention with grouped queries: no weights of its own.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "model/gemm.h"
#include "model/kernels/softmax.h"
#include "model/matrix.h"
#include "model/token_slice.h"

namespace penstock {

// The slices in front of one, of the same sequences, in order. Their keys and values are the cache
// that its queries attend to, and its backward adds to their gradients.
template <class T>
struct EarlierSlices {
  std::span<const Matrix<const T>> qkv;
  std::span<const Matrix<T>> dqkv;  // backward only
};

// A row of `qkv` is one token: `heads` query heads, then `kv_heads` key heads, then as many value
// heads, each head_size wide. Query head i attends with key head i / (heads / kv_heads).
template <class T>
struct Attention {
  int heads = 0;
  int kv_heads = 0;
  int head_size = 0;

  int qkv_columns() const { return (heads + 2 * kv_heads) * head_size; }
  // Values of `probabilities`, kept for the backward: per sequence and head a matrix of
  // slice.tokens rows and slice.end() columns.
  std::size_t probability_values(const TokenSlice& slice) const {
    return static_cast<std::size_t>(slice.sequences) * static_cast<std::size_t>(heads) *
           score_values(slice);
  }
  // Values of backward_input's `scratch`.
  static std::size_t score_values(const TokenSlice& slice) {
    return static_cast<std::size_t>(slice.tokens) * static_cast<std::size_t>(slice.end());
  }

  // y: heads * head_size columns.
  void forward(const TokenSlice& slice, EarlierSlices<T> earlier, Matrix<const T> qkv,
               T* probabilities, Matrix<T> y) const {
    for (int sequence = 0; sequence < slice.sequences; ++sequence) {
      for (int head = 0; head < heads; ++head) {
        const Rows rows{slice.sequences, sequence, head};
        const Matrix<T> p = probability(probabilities, slice, sequence, head);
        attend(slice, earlier, qkv, rows, p);
        gemm(p.column_range(slice.first, slice.tokens), Transpose::No, value(qkv, rows),
             Transpose::No, query(y, rows), Accumulate::No);
        int column = 0;
        for (const Matrix<const T>& cache : earlier.qkv) {
          const Matrix<const T> v = value(cache, rows);
          gemm(p.column_range(column, v.rows), Transpose::No, v, Transpose::No, query(y, rows),
               Accumulate::Yes);
          column += v.rows;
        }
      }
    }
  }

  // The probabilities alone, once more.
  void make_probabilities(const TokenSlice& slice, EarlierSlices<T> earlier, Matrix<const T> qkv,
                          T* probabilities) const {
    for (int sequence = 0; sequence < slice.sequences; ++sequence) {
      for (int head = 0; head < heads; ++head) {
        attend(slice, earlier, qkv, {slice.sequences, sequence, head},
               probability(probabilities, slice, sequence, head));
      }
    }
  }

  // dqkv from dy, and the slice's share of earlier.dqkv. The last slice of a sequence comes first
  // and starts the sums over slices in the columns of the keys and values; `last` says that it is.
  void backward_input(const TokenSlice& slice, bool last, EarlierSlices<T> earlier,
                      Matrix<const T> qkv, const T* probabilities, Matrix<const T> dy, T* scratch,
                      Matrix<T> dqkv) const {
    const int group = heads / kv_heads;
    const Matrix<T> ds(scratch, slice.tokens, slice.end());
    for (int sequence = 0; sequence < slice.sequences; ++sequence) {
      for (int head = 0; head < heads; ++head) {
        const Rows rows{slice.sequences, sequence, head};
        const auto sum = last && head % group == 0 ? Accumulate::No : Accumulate::Yes;
        const Matrix<const T> p = probability(probabilities, slice, sequence, head);
        const Matrix<const T> dout = query(dy, rows);
        const auto of_values = [&](Matrix<const T> x, Matrix<T> dx, int column, int count) {
          gemm(p.column_range(column, count), Transpose::Yes, dout, Transpose::No, value(dx, rows),
               sum);
          gemm(dout, Transpose::No, value(x, rows), Transpose::Yes, ds.column_range(column, count),
               Accumulate::No);
        };
        const auto of_keys = [&](Matrix<const T> x, Matrix<T> dx, int column, int count,
                                 Accumulate queries) {
          const Matrix<const T> dscores = ds.column_range(column, count);
          gemm(dscores, Transpose::No, key(x, rows), Transpose::No, query(dqkv, rows), queries);
          gemm(dscores, Transpose::Yes, query(qkv, rows), Transpose::No, key(dx, rows), sum);
        };
        of_values(qkv, dqkv, slice.first, slice.tokens);
        over(earlier, slice.sequences, of_values);
        causal_softmax_backward(p, scale(), ds);
        of_keys(qkv, dqkv, slice.first, slice.tokens, Accumulate::No);
        over(earlier, slice.sequences, [&](auto x, auto dx, int column, int count) {
          of_keys(x, dx, column, count, Accumulate::Yes);
        });
      }
    }
  }

 private:
  // One sequence of several, and one query head.
  struct Rows {
    int sequences;
    int sequence;
    int head;
  };

  T scale() const { return T(1) / std::sqrt(T(head_size)); }

  // p: the softmax of the scores, earlier slices' keys in front.
  void attend(const TokenSlice& slice, const EarlierSlices<T>& earlier, Matrix<const T> qkv,
              const Rows& rows, Matrix<T> p) const {
    const Matrix<const T> q = query(qkv, rows);
    gemm(q, Transpose::No, key(qkv, rows), Transpose::Yes,
         p.column_range(slice.first, slice.tokens), Accumulate::No, scale());
    int column = 0;
    for (const Matrix<const T>& cache : earlier.qkv) {
      const Matrix<const T> k = key(cache, rows);
      gemm(q, Transpose::No, k, Transpose::Yes, p.column_range(column, k.rows), Accumulate::No,
           scale());
      column += k.rows;
    }
    causal_softmax(p);
  }

  // visit(qkv, dqkv, first token, tokens) for every earlier slice.
  template <class Visit>
  static void over(const EarlierSlices<T>& earlier, int sequences, const Visit& visit) {
    int first = 0;
    for (std::size_t i = 0; i < earlier.qkv.size(); ++i) {
      const int tokens = earlier.qkv[i].rows / sequences;
      visit(earlier.qkv[i], earlier.dqkv[i], first, tokens);
      first += tokens;
    }
  }

  template <class V>
  Matrix<V> probability(V* probabilities, const TokenSlice& slice, int sequence, int head) const {
    const auto values = static_cast<std::ptrdiff_t>(score_values(slice));
    const auto index = static_cast<std::ptrdiff_t>(sequence) * heads + head;
    return {probabilities + index * values, slice.tokens, slice.end()};
  }
  template <class V>
  Matrix<V> columns(Matrix<V> x, const Rows& rows, int column_head) const {
    const int tokens = x.rows / rows.sequences;
    return x.row_range(rows.sequence * tokens, tokens)
        .column_range(column_head * head_size, head_size);
  }
  template <class V>
  Matrix<V> query(Matrix<V> x, const Rows& rows) const {
    return columns(x, rows, rows.head);
  }
  template <class V>
  Matrix<V> key(Matrix<V> x, const Rows& rows) const {
    return columns(x, rows, heads + rows.head * kv_heads / heads);
  }
  template <class V>
  Matrix<V> value(Matrix<V> x, const Rows& rows) const {
    return columns(x, rows, heads + kv_heads + rows.head * kv_heads / heads);
  }
};

}  // namespace penstock
