// File: transformer_block.h. One transformer layer: x + attention(norm(x)), then + mlp(norm(..)).
#pragma once

#include <cstddef>
#include <vector>

#include "model/attention.h"
#include "model/carver.h"
#include "model/kernels/activations.h"
#include "model/kernels/rotary.h"
#include "model/linear_group.h"
#include "model/norm_layer.h"

namespace penstock {

template <class T>
struct TransformerBlock {
  NormLayer<T> attention_norm;
  LinearGroup<T> qkv;
  Attention<T> attention;
  const T* rotary_table = nullptr;  // null: learned positions, nothing to do here
  Linear<T> attention_out;
  NormLayer<T> mlp_norm;
  LinearGroup<T> up;  // gate and up when gated
  Linear<T> down;
  Activation activation = Activation::GeluTanh;
  bool gated = false;

  // Written by forward, used by the backward of the same microbatch.
  struct Kept {
    T* attention_statistics = nullptr;
    Matrix<T> attention_normed;
    Matrix<T> qkv;
    T* probabilities = nullptr;
    Matrix<T> attended;
    Matrix<T> middle;  // after the attention's residual
    T* mlp_statistics = nullptr;
    Matrix<T> mlp_normed;
    Matrix<T> up;
    Matrix<T> activated;
  };

  // Written by backward_input, used by backward_weight: the gradient of each layer's output. `y`,
  // the gradient of the block's own output, is filled by the caller.
  struct Gradients {
    Matrix<T> y;
    Matrix<T> up;
    Matrix<T> mlp_normed;
    Matrix<T> middle;
    Matrix<T> qkv;
    Matrix<T> attention_normed;
  };

  Kept carve_kept(KeptCarvers<T> carvers, const TokenSlice& slice) const {
    const int rows = slice.rows();
    Kept kept;
    kept.attention_statistics = carvers.rest.take(2 * static_cast<std::size_t>(rows));
    kept.attention_normed = carvers.rest.take(rows, hidden());
    kept.qkv = carvers.cache.take(rows, attention.qkv_columns());
    kept.probabilities = carvers.cheap.take(attention.probability_values(slice));
    kept.attended = carvers.rest.take(rows, attention_out.in);
    kept.middle = carvers.rest.take(rows, hidden());
    kept.mlp_statistics = carvers.rest.take(2 * static_cast<std::size_t>(rows));
    kept.mlp_normed = carvers.rest.take(rows, hidden());
    kept.up = carvers.rest.take(rows, up_columns());
    kept.activated = carvers.cheap.take(rows, down.in);
    return kept;
  }

  Gradients carve_gradients(Carver<T>& carver, int rows) const {
    Gradients gradients;
    gradients.y = carver.take(rows, hidden());
    gradients.up = carver.take(rows, up_columns());
    gradients.mlp_normed = carver.take(rows, hidden());
    gradients.middle = carver.take(rows, hidden());
    gradients.qkv = carver.take(rows, attention.qkv_columns());
    gradients.attention_normed = carver.take(rows, hidden());
    return gradients;
  }

  // Values of scratch memory that backward_input needs.
  std::size_t scratch_values(const TokenSlice& slice) const {
    Carver<T> carver;
    carve_scratch(carver, slice);
    return carver.taken();
  }

  // y: empty when only what is kept is asked for.
  void forward(const TokenSlice& slice, EarlierSlices<T> earlier, Matrix<const T> x,
               const Kept& kept, Matrix<T> y) const {
    attention_norm.forward(x, kept.attention_normed, kept.attention_statistics);
    qkv.forward(kept.attention_normed, kept.qkv);
    turn(slice, kept.qkv, Turn::Forward);
    attention.forward(slice, earlier, kept.qkv, kept.probabilities, kept.attended);
    attention_out.forward(kept.attended, x, kept.middle);
    mlp_norm.forward(kept.middle, kept.mlp_normed, kept.mlp_statistics);
    up.forward(kept.mlp_normed, kept.up);
    activate_up(kept);
    if (y.data != nullptr) down.forward(kept.activated, kept.middle, y);
  }

  // What of `kept` is cheap, from the rest of it.
  void make_cheap(const TokenSlice& slice, EarlierSlices<T> earlier, const Kept& kept) const {
    attention.make_probabilities(slice, earlier, kept.qkv, kept.probabilities);
    activate_up(kept);
  }

  // dx from gradients.y; empty where nobody asks for it. `last`: the slice is the last one of its
  // sequences.
  void backward_input(const TokenSlice& slice, bool last, EarlierSlices<T> earlier,
                      Matrix<const T> x, const Kept& kept, const Gradients& gradients,
                      T* scratch_buffer, Matrix<T> dx) const {
    Carver<T> carver(scratch_buffer);
    const Scratch scratch = carve_scratch(carver, slice);
    down.backward_input(gradients.y, scratch.activated, Accumulate::No);
    if (gated) {
      activate_gated_backward(activation, kept.up, scratch.activated, gradients.up);
    } else {
      activate_backward(activation, kept.up, scratch.activated, gradients.up);
    }
    up.backward_input(gradients.up, gradients.mlp_normed);
    mlp_norm.backward_input(kept.middle, kept.mlp_statistics, gradients.mlp_normed, gradients.y,
                            gradients.middle);
    attention_out.backward_input(gradients.middle, scratch.attended, Accumulate::No);
    attention.backward_input(slice, last, earlier, kept.qkv, kept.probabilities, scratch.attended,
                             scratch.scores, gradients.qkv);
    turn(slice, gradients.qkv, Turn::Back);
    qkv.backward_input(gradients.qkv, gradients.attention_normed);
    if (dx.data == nullptr) return;
    attention_norm.backward_input(x, kept.attention_statistics, gradients.attention_normed,
                                  gradients.middle, dx);
  }

  void backward_weight(Matrix<const T> x, const Kept& kept, const Gradients& gradients) const {
    down.backward_weight(kept.activated, gradients.y);
    up.backward_weight(kept.mlp_normed, gradients.up);
    mlp_norm.backward_weight(kept.middle, kept.mlp_statistics, gradients.mlp_normed);
    attention_out.backward_weight(kept.attended, gradients.middle);
    qkv.backward_weight(kept.attention_normed, gradients.qkv);
    attention_norm.backward_weight(x, kept.attention_statistics, gradients.attention_normed);
  }

 private:
  struct Scratch {
    Matrix<T> activated;
    Matrix<T> attended;
    T* scores = nullptr;
  };

  Scratch carve_scratch(Carver<T>& carver, const TokenSlice& slice) const {
    Scratch scratch;
    scratch.activated = carver.take(slice.rows(), down.in);
    scratch.attended = carver.take(slice.rows(), attention_out.in);
    scratch.scores = carver.take(attention.score_values(slice));
    return scratch;
  }

  void activate_up(const Kept& kept) const {
    if (gated) {
      activate_gated(activation, kept.up, kept.activated);
    } else {
      activate(activation, kept.up, kept.activated);
    }
  }

  // Queries and keys lie side by side: one turn for both.
  void turn(const TokenSlice& slice, Matrix<T> x, Turn direction) const {
    if (rotary_table == nullptr) return;
    const int heads = attention.heads + attention.kv_heads;
    const int size = attention.head_size;
    rotate(x.column_range(0, heads * size), heads, slice.tokens,
           rotary_table + static_cast<std::ptrdiff_t>(slice.first) * size, direction);
  }

  int hidden() const { return down.out; }
  int up_columns() const { return gated ? 2 * down.in : down.in; }
};

}  // namespace penstock
