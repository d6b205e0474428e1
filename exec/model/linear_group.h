// File: linear_group.h. Linear layers with the same input and outputs side by side: q, k and v, or
// gate and up.
#pragma once

#include <vector>

#include "model/linear.h"

namespace penstock {

// A fused layer (GPT-2's c_attn) is a group of one.
template <class T>
struct LinearGroup {
  std::vector<Linear<T>> members;

  void forward(Matrix<const T> x, Matrix<T> y) const {
    int first = 0;
    for (const Linear<T>& linear : members) {
      linear.forward(x, {}, y.column_range(first, linear.out));
      first += linear.out;
    }
  }

  void backward_input(Matrix<const T> dy, Matrix<T> dx) const {
    int first = 0;
    for (const Linear<T>& linear : members) {
      linear.backward_input(dy.column_range(first, linear.out), dx,
                            first == 0 ? Accumulate::No : Accumulate::Yes);
      first += linear.out;
    }
  }

  void backward_weight(Matrix<const T> x, Matrix<const T> dy) const {
    int first = 0;
    for (const Linear<T>& linear : members) {
      linear.backward_weight(x, dy.column_range(first, linear.out));
      first += linear.out;
    }
  }
};

}  // namespace penstock
