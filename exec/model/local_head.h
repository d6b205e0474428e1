// File: local_head.h. The loss of a hidden state: what the last stage of a window learns from in
// local learning, where the model goes on behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/head.h"
#include "model/transformer_block.h"
#include "penstock/learning.h"
#include "penstock/model.h"

namespace penstock {

// The tensors of a head behind the first `layers` layers: "aux.4.lm_head.weight". Sizes are those
// of the model; the language-model head is never tied. They belong to no block of the
// model, but to local_head_block().
std::vector<ModelTensor> local_head_tensors(const Model& model, AuxHead kind, std::int32_t layers);

inline std::int32_t local_head_block(const Model& model) {
  return model.layers + 2;
}

// Linear: norm, language-model head and cross-entropy. Mlp: a hidden layer in front of that, as
// wide as the model, with its activation. Block: a transformer layer in front of it.
template <class T>
struct LocalHead {
  std::optional<TransformerBlock<T>> block;
  std::optional<Linear<T>> hidden;
  Activation activation = Activation::GeluTanh;
  Head<T> head;

  struct Kept {
    typename TransformerBlock<T>::Kept block;
    Matrix<T> before;  // the activation
    Matrix<T> x;       // the head's input; with neither block nor hidden layer not kept
    typename Head<T>::Kept head;
  };
  struct Gradients {
    typename TransformerBlock<T>::Gradients block;
    Matrix<T> before;
    typename Head<T>::Gradients head;
  };

  Kept carve_kept(KeptCarvers<T> carvers, const TokenSlice& slice) const {
    Kept kept;
    if (block) kept.block = block->carve_kept(carvers, slice);
    if (hidden) kept.before = carvers.rest.take(slice.rows(), hidden->out);
    if (block || hidden) kept.x = carvers.rest.take(slice.rows(), head.linear.in);
    kept.head = head.carve_kept(carvers.rest, slice.rows());
    return kept;
  }

  Gradients carve_gradients(Carver<T>& carver, int rows) const {
    Gradients gradients;
    if (block) gradients.block = block->carve_gradients(carver, rows);
    if (hidden) gradients.before = carver.take(rows, hidden->out);
    gradients.head = head.carve_gradients(carver, rows);
    return gradients;
  }

  // The loss summed over the rows, as Head's.
  double forward(const TokenSlice& slice, Matrix<const T> x, std::span<const std::int32_t> targets,
                 T gradient_scale, const Kept& kept) const {
    if (block) block->forward(slice, {}, x, kept.block, kept.x);
    if (hidden) {
      hidden->forward(x, {}, kept.before);
      activate(activation, kept.before, kept.x);
    }
    return head.forward(input_of_head(x, kept), targets, gradient_scale, kept.head);
  }

  void make_cheap(const TokenSlice& slice, const Kept& kept) const {
    if (block) block->make_cheap(slice, {}, kept.block);
  }

  void backward_input(const TokenSlice& slice, Matrix<const T> x, const Kept& kept,
                      const Gradients& gradients, T* scratch, Matrix<T> dx) const {
    const Matrix<T> dhead = block ? gradients.block.y : hidden ? gradients.before : dx;
    head.backward_input(input_of_head(x, kept), kept.head, gradients.head, dhead);
    if (block) {
      block->backward_input(slice, true, {}, x, kept.block, gradients.block, scratch, dx);
    } else if (hidden) {
      activate_backward(activation, kept.before, gradients.before, gradients.before);
      hidden->backward_input(gradients.before, dx, Accumulate::No);
    }
  }

  void backward_weight(Matrix<const T> x, const Kept& kept, const Gradients& gradients) const {
    head.backward_weight(input_of_head(x, kept), kept.head, gradients.head);
    if (block) block->backward_weight(x, kept.block, gradients.block);
    if (hidden) hidden->backward_weight(x, gradients.before);
  }

 private:
  Matrix<const T> input_of_head(Matrix<const T> x, const Kept& kept) const {
    return block || hidden ? Matrix<const T>(kept.x) : x;
  }
};

}  // namespace penstock
