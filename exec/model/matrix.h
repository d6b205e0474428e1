// File: matrix.h. A view of a row-major matrix.
#pragma once

#include <cstddef>
#include <type_traits>

namespace penstock {

// Does not own its values. T may be const; a view of T converts to a view of const T.
template <class T>
struct Matrix {
  T* data = nullptr;
  int rows = 0;
  int columns = 0;
  int stride = 0;  // values from one row to the next, >= columns

  Matrix() = default;
  Matrix(T* data, int rows, int columns) : Matrix(data, rows, columns, columns) {}
  Matrix(T* data, int rows, int columns, int stride)
      : data(data), rows(rows), columns(columns), stride(stride) {}
  operator Matrix<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, columns, stride};
  }

  T* row(int r) const { return data + static_cast<std::ptrdiff_t>(r) * stride; }
  Matrix row_range(int first, int count) const { return {row(first), count, columns, stride}; }
  Matrix column_range(int first, int count) const { return {data + first, rows, count, stride}; }
};

}  // namespace penstock
