// File: norm_layer.h. LayerNorm or RMSNorm with its weights.
#pragma once

#include "model/kernels/norms.h"
#include "model/kernels/rows.h"
#include "model/matrix.h"
#include "model/parameter.h"
#include "penstock/model.h"

namespace penstock {

template <class T>
struct NormLayer {
  Norm kind = Norm::LayerNorm;
  T epsilon = T(1e-5);
  Parameter<T> weight;
  Parameter<T> bias;  // LayerNorm only

  // `statistics`: two values per row, kept for the backward.
  void forward(Matrix<const T> x, Matrix<T> y, T* statistics) const {
    if (kind == Norm::LayerNorm) {
      layer_norm(x, weight.value(), bias.value(), epsilon, y, statistics);
    } else {
      rms_norm(x, weight.value(), epsilon, y, statistics);
    }
  }

  // dx = residual + the input gradient; `residual` may be empty.
  void backward_input(Matrix<const T> x, const T* statistics, Matrix<const T> dy,
                      Matrix<const T> residual, Matrix<T> dx) const {
    if (kind == Norm::LayerNorm) {
      layer_norm_backward_input(x, statistics, weight.value(), dy, residual, dx);
    } else {
      rms_norm_backward_input(x, statistics, weight.value(), dy, residual, dx);
    }
  }

  void backward_weight(Matrix<const T> x, const T* statistics, Matrix<const T> dy) const {
    norm_backward_weight(x, statistics, dy, weight.gradient());
    if (bias.gradient() != nullptr) add_rows(dy, bias.gradient());
  }
};

}  // namespace penstock
