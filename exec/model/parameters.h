// File: parameters.h. The trained values of one part of the model and their gradients.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/aligned.h"
#include "model/parameter.h"
#include "penstock/index.h"
#include "penstock/model.h"

namespace penstock {

// A run of the model's blocks (split.h): [first, end).
struct BlockRange {
  std::int32_t first = 0;
  std::int32_t end = 0;
};

// One tensor of the part. `tensor` is its index in model_tensors(model), -1: none of the model's.
struct PartTensor {
  std::int32_t tensor = 0;
  ModelTensor info;
  std::size_t offset = 0;  // of its first value in the flat arrays
  std::size_t size() const { return static_cast<std::size_t>(info.size()); }
};

// Values and gradients as flat arrays, tensors in canonical order. A part with a tied head but not
// the embedding holds its own copy of the embedding. A part with both has one copy of the values
// and two accumulators, summed by fold_tied(): embedding first, then head.
//
// There may be several versions of the values and several sets of gradients, of which one each is
// in use: everything below is about that one, and so are the views of find() and head_weight().
template <class T>
class Parameters {
 public:
  // `more`: tensors behind the model's own.
  Parameters(const Model& model, BlockRange blocks, std::vector<ModelTensor> more = {},
             std::int32_t versions = 1, std::int32_t gradient_sets = 1);
  Parameters(const Parameters&) = delete;  // views point here

  void use_values(std::int32_t version);
  void use_gradients(std::int32_t set);
  // What is in use goes on as version `version`.
  void copy_values_to(std::int32_t version);

  // The tensor of `block` whose name ends in ".suffix"; null views when there is none.
  Parameter<T> find(std::int32_t block, std::string_view suffix);
  // What the head multiplies with: the tied embedding or lm_head.weight.
  Parameter<T> head_weight();

  const std::vector<PartTensor>& tensors() const { return tensors_; }
  std::span<T> values() { return {values_[index(version_)]}; }
  std::span<const T> values() const { return {values_[index(version_)]}; }
  std::span<T> gradients() { return {gradients_[index(set_)]}; }
  std::span<T> values(const PartTensor& tensor) {
    return values().subspan(tensor.offset, tensor.size());
  }
  std::span<const T> values(const PartTensor& tensor) const {
    return values().subspan(tensor.offset, tensor.size());
  }
  std::span<T> gradients(const PartTensor& tensor) {
    return gradients().subspan(tensor.offset, tensor.size());
  }
  std::span<const T> gradients(const PartTensor& tensor) const {
    return std::span<const T>(gradients_[index(set_)]).subspan(tensor.offset, tensor.size());
  }

  // The embedding, when this part shares it with another (tied, and not both ends are here).
  const PartTensor* shared() const;

  void clear_gradients();
  // Adds the head's accumulator of a tied embedding to the embedding's. Once, after the last
  // backward; nothing to do unless both ends are here.
  void fold_tied();

 private:
  bool has_both_ends() const { return !head_gradients_.empty(); }

  std::int32_t head_block_ = 0;
  bool tied_ = false;
  std::vector<PartTensor> tensors_;
  std::vector<AlignedVector<T>> values_;     // by version
  std::vector<AlignedVector<T>> gradients_;  // by set
  // Likewise, of the tied embedding in the head, when both ends are here.
  std::vector<AlignedVector<T>> head_gradients_;
  std::int32_t version_ = 0;
  std::int32_t set_ = 0;
  // Where those in use begin, for the views.
  const T* values_begin_ = nullptr;
  T* gradients_begin_ = nullptr;
  T* head_gradients_begin_ = nullptr;
};

}  // namespace penstock
