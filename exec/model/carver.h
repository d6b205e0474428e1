// File: carver.h. Cuts one buffer into aligned pieces.
#pragma once

#include <cstddef>

#include "model/matrix.h"

namespace penstock {

// Without a buffer it only counts, so that one function says both how much a layer needs and where
// each piece lies. Pieces start at multiples of 64 bytes.
template <class T>
class Carver {
 public:
  explicit Carver(T* buffer = nullptr) : buffer_(buffer) {}

  T* take(std::size_t values) {
    T* piece = buffer_ == nullptr ? nullptr : buffer_ + taken_;
    constexpr std::size_t kStep = 64 / sizeof(T);
    taken_ += (values + kStep - 1) / kStep * kStep;
    return piece;
  }

  Matrix<T> take(int rows, int columns) {
    return {take(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)), rows,
            columns};
  }

  std::size_t taken() const { return taken_; }

 private:
  T* buffer_;
  std::size_t taken_ = 0;
};

// Where what a layer keeps for its backward goes.
template <class T>
struct KeptCarvers {
  Carver<T>& cheap;  // attention probabilities and activations: much memory, quickly made again
  Carver<T>& cache;  // keys and values, which later token slices need
  Carver<T>& rest;
};

}  // namespace penstock
