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
#include "model/local_head.h"
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
  // Of E and the blocks; the part's own output is kept only where a loss is made of it.
  std::vector<Matrix<T>> outputs;
  typename Head<T>::Kept head;
  typename LocalHead<T>::Kept local_head;
};

template <class T>
struct PartGradients {
  Matrix<T> embedded;  // of E's output
  std::vector<typename TransformerBlock<T>::Gradients> blocks;
  typename Head<T>::Gradients head;
  typename LocalHead<T>::Gradients local_head;
};

struct PartOptions {
  RecomputeChoice recompute = RecomputeChoice::None;  // what a forward keeps for make_again()
  // Of a part without L: a loss of its output, whose tensors (local_head_tensors) are among the
  // parameters. REQUIRES: the part has a block, and there are no token slices.
  std::optional<AuxHead> local_head;
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
  // outlive the part.
  Part(const Model& model, BlockRange blocks, int tokens, std::span<const TokenSlice> slices,
       T gradient_scale, Parameters<T>& parameters, const PartOptions& options = {});

  bool is_first() const { return embedding_.has_value(); }
  bool is_last() const { return head_.has_value(); }
  bool has_loss() const { return is_last() || local_head_.has_value(); }

  // Values of the buffers that carve_kept and carve_gradients cut up.
  KeptValues kept_values(const TokenSlice& slice) const;
  std::size_t gradient_values(const TokenSlice& slice) const;
  // Lay a slice out in buffers; vectors in the layout keep their storage.
  void carve_kept(T* lasting, T* remade, const TokenSlice& slice, PartKept<T>& layout) const;
  // Returns gradient_values(slice).
  std::size_t carve_gradients(T* buffer, const TokenSlice& slice, PartGradients<T>& layout) const;

  // y: the part's output, empty on the last part and where it is not asked for. Returns the loss
  // summed over the rows (0 without one).
  double forward(const PartInput<T>& input, const PartKept<T>& kept, Matrix<T> y);
  // What forward put into the remade buffer, into another one. REQUIRES: recomputation.
  void make_again(const PartInput<T>& input, const PartKept<T>& kept);
  // From dy, or from the part's own loss where dy is empty. dx: empty on the first part, and where
  // nobody asks for it.
  void backward_input(const PartInput<T>& input, const PartKept<T>& kept,
                      const PartGradients<T>& gradients, Matrix<const T> dy, Matrix<T> dx);
  // Adds to the gradients of E and the blocks; and, of the part's own loss, of what makes it.
  void backward_weight(const PartInput<T>& input, const PartKept<T>& kept,
                       const PartGradients<T>& gradients);
  void backward_loss_weight(const PartInput<T>& input, const PartKept<T>& kept,
                            const PartGradients<T>& gradients);

 private:
  TransformerBlock<T> make_block(const Model& model, std::int32_t block,
                                 Parameters<T>& parameters) const;
  void carve(Carver<T>& lasting, Carver<T>& remade, const TokenSlice& slice,
             PartKept<T>& layout) const;
  void carve(Carver<T>& carver, const TokenSlice& slice, PartGradients<T>& layout) const;
  // Block i of the earlier slices; their gradients in the backward only. Valid until the next call.
  EarlierSlices<T> earlier_of(std::size_t i, const PartInput<T>& input);
  LocalHead<T> make_local_head(const Model& model, AuxHead kind, Parameters<T>& parameters) const;
  // The input of block i; of the head, or local head, for i == blocks_.size().
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
  std::optional<LocalHead<T>> local_head_;
  AlignedVector<T> scratch_;
  std::vector<Matrix<const T>> earlier_qkv_;
  std::vector<Matrix<T>> earlier_dqkv_;
};

}  // namespace penstock
