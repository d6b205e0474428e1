// File: part.h. The maths of one part of the model: a run of blocks, E first, L last.
//
// Every slice of a microbatch passes in three steps: forward, then backward_input and
// backward_weight (B is the two in sequence, so that B and I + W give the same bits). Slices go
// forward in order and backward in reverse. What a slice needs in between lies in memory that the
// caller owns: PartKept from forward to backward_weight, PartGradients from the first
// backward_input of its microbatch to backward_weight.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/aligned.h"
#include "model/carver.h"
#include "model/embedding.h"
#include "model/head.h"
#include "model/parameters.h"
#include "model/transformer_block.h"
#include "penstock/experiment.h"
#include "penstock/model.h"

namespace penstock {

// How many values a slice keeps from forward to backward_weight: for all of that time, and those
// that make_again() would make. The latter are none without recomputation.
struct KeptValues {
  std::size_t lasting = 0;
  std::size_t remade = 0;
};

template <class T>
struct PartKept {
  std::vector<typename TransformerBlock<T>::Kept> blocks;
  std::vector<Matrix<T>> outputs;  // of E and the blocks; the part's own output is not kept
  typename Head<T>::Kept head;
};

template <class T>
struct PartGradients {
  Matrix<T> embedded;  // of E's output
  std::vector<typename TransformerBlock<T>::Gradients> blocks;
  typename Head<T>::Gradients head;
};

// A slice on its way through a part. Rows are tokens, sequence by sequence.
template <class T>
struct PartInput {
  TokenSlice slice;
  std::span<const std::int32_t> ids;      // used by E
  std::span<const std::int32_t> targets;  // used by L
  Matrix<const T> x;                      // used by parts without E; must live until the backward
  // What the slices in front of it keep and, in the backward, where their gradients gather.
  std::span<const PartKept<T>* const> earlier_kept;
  std::span<const PartGradients<T>* const> earlier_gradients;
};

template <class T>
class Part {
 public:
  // `tokens` per sequence; `slices`: all that will pass. `gradient_scale`: the loss is a sum over
  // tokens, its gradients are scaled by this, 1 / (tokens of the whole batch). `parameters` must
  // outlive the part. `recompute`: what a forward keeps for make_again().
  Part(const Model& model, BlockRange blocks, int tokens, std::span<const TokenSlice> slices,
       T gradient_scale, Parameters<T>& parameters,
       RecomputeChoice recompute = RecomputeChoice::None);

  bool is_first() const { return embedding_.has_value(); }
  bool is_last() const { return head_.has_value(); }

  // Values of the buffers that carve_kept and carve_gradients cut up.
  KeptValues kept_values(const TokenSlice& slice) const;
  std::size_t gradient_values(const TokenSlice& slice) const;
  // Lay a slice out in buffers; vectors in the layout keep their storage.
  void carve_kept(T* lasting, T* remade, const TokenSlice& slice, PartKept<T>& layout) const;
  void carve_gradients(T* buffer, const TokenSlice& slice, PartGradients<T>& layout) const;

  // y: the part's output, empty on the last part and where it is not asked for. Returns the loss
  // summed over the rows (0 unless last).
  double forward(const PartInput<T>& input, const PartKept<T>& kept, Matrix<T> y);
  // What forward put into the remade buffer, into another one. REQUIRES: recomputation.
  void make_again(const PartInput<T>& input, const PartKept<T>& kept);
  // dy: empty on the last part; dx: empty on the first.
  void backward_input(const PartInput<T>& input, const PartKept<T>& kept,
                      const PartGradients<T>& gradients, Matrix<const T> dy, Matrix<T> dx);
  void backward_weight(const PartInput<T>& input, const PartKept<T>& kept,
                       const PartGradients<T>& gradients);

 private:
  TransformerBlock<T> make_block(const Model& model, std::int32_t block,
                                 Parameters<T>& parameters) const;
  void carve(Carver<T>& lasting, Carver<T>& remade, const TokenSlice& slice,
             PartKept<T>& layout) const;
  void carve(Carver<T>& carver, const TokenSlice& slice, PartGradients<T>& layout) const;
  // Block i of the earlier slices; their gradients in the backward only. Valid until the next call.
  EarlierSlices<T> earlier_of(std::size_t i, const PartInput<T>& input);
  // The input of block i; of the head for i == blocks_.size().
  Matrix<const T> input_of(std::size_t i, const PartInput<T>& input, const PartKept<T>& kept) const;

  int hidden_;
  int tokens_;
  T gradient_scale_;
  RecomputeChoice recompute_;
  bool sliced_;  // some slice is not the first of its sequences
  AlignedVector<T> rotary_table_;
  std::optional<Embedding<T>> embedding_;
  std::vector<TransformerBlock<T>> blocks_;
  std::optional<Head<T>> head_;
  AlignedVector<T> scratch_;
  std::vector<Matrix<const T>> earlier_qkv_;
  std::vector<Matrix<T>> earlier_dqkv_;
};

}  // namespace penstock
