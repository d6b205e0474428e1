// File: head.h. The last block: final norm, language-model head and cross-entropy.
#pragma once

#include <cstdint>
#include <span>

#include "model/carver.h"
#include "model/kernels/softmax.h"
#include "model/linear.h"
#include "model/norm_layer.h"

namespace penstock {

template <class T>
struct Head {
  NormLayer<T> norm;
  Linear<T> linear;  // [vocabulary, hidden], no bias; the token embedding when tied

  struct Kept {
    T* statistics = nullptr;
    Matrix<T> normed;
    Matrix<T> dlogits;  // forward already leaves the logits' gradient here
  };
  struct Gradients {
    Matrix<T> normed;
  };

  Kept carve_kept(Carver<T>& carver, int rows) const {
    Kept kept;
    kept.statistics = carver.take(2 * static_cast<std::size_t>(rows));
    kept.normed = carver.take(rows, linear.in);
    kept.dlogits = carver.take(rows, linear.out);
    return kept;
  }

  Gradients carve_gradients(Carver<T>& carver, int rows) const {
    return {.normed = carver.take(rows, linear.in)};
  }

  // The loss summed over the rows; their gradients are scaled by `gradient_scale`.
  double forward(Matrix<const T> x, std::span<const std::int32_t> targets, T gradient_scale,
                 const Kept& kept) const {
    norm.forward(x, kept.normed, kept.statistics);
    linear.forward(kept.normed, {}, kept.dlogits);
    return cross_entropy(kept.dlogits, targets, gradient_scale);
  }

  // dx: empty where nobody asks for it.
  void backward_input(Matrix<const T> x, const Kept& kept, const Gradients& gradients,
                      Matrix<T> dx) const {
    linear.backward_input(kept.dlogits, gradients.normed, Accumulate::No);
    if (dx.data == nullptr) return;
    norm.backward_input(x, kept.statistics, gradients.normed, {}, dx);
  }

  void backward_weight(Matrix<const T> x, const Kept& kept, const Gradients& gradients) const {
    linear.backward_weight(kept.normed, kept.dlogits);
    norm.backward_weight(x, kept.statistics, gradients.normed);
  }
};

}  // namespace penstock
