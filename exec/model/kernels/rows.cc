#include "model/kernels/rows.h"

#include <cstddef>
#include <cstring>

#include "model/kernels/clones.h"
#include "model/kernels/sums.h"

namespace penstock {

namespace {

template <class T>
PENSTOCK_INLINE void fill(Matrix<const T> residual, const T* bias, Matrix<T> y) {
  const std::size_t bytes = static_cast<std::size_t>(y.columns) * sizeof(T);
  for (int r = 0; r < y.rows; ++r) {
    T* out = y.row(r);
    if (residual.data != nullptr && bias != nullptr) {
      const T* in = residual.row(r);
      for (int i = 0; i < y.columns; ++i) out[i] = in[i] + bias[i];
    } else if (residual.data != nullptr) {
      std::memcpy(out, residual.row(r), bytes);
    } else if (bias != nullptr) {
      std::memcpy(out, bias, bytes);
    } else {
      std::memset(out, 0, bytes);
    }
  }
}

template <class T>
PENSTOCK_INLINE void add_row(int n, const T* row, T* sums) {
  for (int i = 0; i < n; ++i) sums[i] += row[i];
}

template <class T>
PENSTOCK_INLINE void look_up_rows(std::span<const std::int32_t> ids, int tokens,
                                  const T* token_table, const T* position_table, Matrix<T> y) {
  for (int r = 0; r < y.rows; ++r) {
    const T* token = token_table + static_cast<std::ptrdiff_t>(ids[r]) * y.columns;
    T* out = y.row(r);
    if (position_table == nullptr) {
      std::memcpy(out, token, static_cast<std::size_t>(y.columns) * sizeof(T));
      continue;
    }
    const T* position = position_table + static_cast<std::ptrdiff_t>(r % tokens) * y.columns;
    for (int i = 0; i < y.columns; ++i) out[i] = token[i] + position[i];
  }
}

template <class T>
PENSTOCK_INLINE void look_up_backward_rows(std::span<const std::int32_t> ids, int tokens,
                                           Matrix<const T> dy, T* token_table, T* position_table) {
  const int n = dy.columns;
  for (int r = 0; r < dy.rows; ++r) {
    add_row(n, dy.row(r), token_table + static_cast<std::ptrdiff_t>(ids[r]) * n);
    if (position_table == nullptr) continue;
    add_row(n, dy.row(r), position_table + static_cast<std::ptrdiff_t>(r % tokens) * n);
  }
}

}  // namespace

PENSTOCK_CLONES void fill_rows(Matrix<const float> residual, const float* bias, Matrix<float> y) {
  fill(residual, bias, y);
}

void fill_rows(Matrix<const double> residual, const double* bias, Matrix<double> y) {
  fill(residual, bias, y);
}

PENSTOCK_CLONES void add_rows(Matrix<const float> x, float* sums) {
  for (int r = 0; r < x.rows; ++r) add_row(x.columns, x.row(r), sums);
}

void add_rows(Matrix<const double> x, double* sums) {
  for (int r = 0; r < x.rows; ++r) add_row(x.columns, x.row(r), sums);
}

PENSTOCK_CLONES void look_up(std::span<const std::int32_t> ids, int tokens,
                             const float* token_table, const float* position_table,
                             Matrix<float> y) {
  look_up_rows(ids, tokens, token_table, position_table, y);
}

void look_up(std::span<const std::int32_t> ids, int tokens, const double* token_table,
             const double* position_table, Matrix<double> y) {
  look_up_rows(ids, tokens, token_table, position_table, y);
}

PENSTOCK_CLONES void look_up_backward(std::span<const std::int32_t> ids, int tokens,
                                      Matrix<const float> dy, float* token_table,
                                      float* position_table) {
  look_up_backward_rows(ids, tokens, dy, token_table, position_table);
}

void look_up_backward(std::span<const std::int32_t> ids, int tokens, Matrix<const double> dy,
                      double* token_table, double* position_table) {
  look_up_backward_rows(ids, tokens, dy, token_table, position_table);
}

}  // namespace penstock
