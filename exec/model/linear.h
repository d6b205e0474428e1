// File: linear.h. A linear layer: y = x W + b.
#pragma once

#include "model/gemm.h"
#include "model/kernels/rows.h"
#include "model/matrix.h"
#include "model/parameter.h"

namespace penstock {

// How Hugging Face stores W: GPT-2's Conv1D as [in, out], nn.Linear as [out, in].
enum class WeightLayout : bool { InOut, OutIn };

// All matrices have one row per token.
template <class T>
struct Linear {
  int in = 0;
  int out = 0;
  WeightLayout layout = WeightLayout::OutIn;
  Parameter<T> weight;
  Parameter<T> bias;

  // y = residual + bias + x W; `residual` may be empty.
  void forward(Matrix<const T> x, Matrix<const T> residual, Matrix<T> y) const {
    const bool start = residual.data != nullptr || bias.value() != nullptr;
    if (start) fill_rows(residual, bias.value(), y);
    gemm(x, Transpose::No, matrix(weight.value()), turned(layout == WeightLayout::OutIn), y,
         start ? Accumulate::Yes : Accumulate::No);
  }

  // dx = dy W^T, or dx += it.
  void backward_input(Matrix<const T> dy, Matrix<T> dx, Accumulate accumulate) const {
    gemm(dy, Transpose::No, matrix(weight.value()), turned(layout == WeightLayout::InOut), dx,
         accumulate);
  }

  // Adds to the gradients of W and b.
  void backward_weight(Matrix<const T> x, Matrix<const T> dy) const {
    if (layout == WeightLayout::InOut) {
      gemm(x, Transpose::Yes, dy, Transpose::No, matrix(weight.gradient()), Accumulate::Yes);
    } else {
      gemm(dy, Transpose::Yes, x, Transpose::No, matrix(weight.gradient()), Accumulate::Yes);
    }
    if (bias.gradient() != nullptr) add_rows(dy, bias.gradient());
  }

 private:
  template <class V>
  Matrix<V> matrix(V* data) const {
    if (layout == WeightLayout::InOut) return {data, in, out};
    return {data, out, in};
  }
  static Transpose turned(bool yes) { return yes ? Transpose::Yes : Transpose::No; }
};

}  // namespace penstock
