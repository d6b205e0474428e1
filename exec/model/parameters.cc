#include "model/parameters.h"

#include <algorithm>
#include <cassert>

namespace penstock {

namespace {

bool ends_in(std::string_view name, std::string_view suffix) {
  return name == suffix || (name.size() > suffix.size() && name.ends_with(suffix) &&
                            name[name.size() - suffix.size() - 1] == '.');
}

bool is_token_embedding(const ModelTensor& tensor) {
  return tensor.block == 0 &&
         (ends_in(tensor.name, "wte.weight") || ends_in(tensor.name, "embed_tokens.weight"));
}

bool holds(BlockRange blocks, std::int32_t block) {
  return blocks.first <= block && block < blocks.end;
}

}  // namespace

template <class T>
Parameters<T>::Parameters(const Model& model, BlockRange blocks, std::vector<ModelTensor> more,
                          std::int32_t versions, std::int32_t gradient_sets)
    : head_block_(model.layers + 1), tied_(model.tied_embeddings) {
  const bool has_head = holds(blocks, head_block_);
  std::vector<ModelTensor> all = model_tensors(model);
  std::size_t used = 0;
  const auto add = [&](std::int32_t number, ModelTensor& info) {
    PartTensor tensor{.tensor = number, .info = std::move(info)};
    tensor.offset = used;
    used += (tensor.size() + 15) / 16 * 16;
    tensors_.push_back(std::move(tensor));
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool tied_copy = tied_ && has_head && is_token_embedding(all[i]);
    if (holds(blocks, all[i].block) || tied_copy) add(static_cast<std::int32_t>(i), all[i]);
  }
  for (ModelTensor& tensor : more) add(-1, tensor);
  values_.assign(index(versions), AlignedVector<T>(used, T(0)));
  gradients_.assign(index(gradient_sets), AlignedVector<T>(used, T(0)));
  if (tied_ && has_head && holds(blocks, 0)) {
    const auto embedding = std::ranges::find_if(
        tensors_, [](const PartTensor& tensor) { return is_token_embedding(tensor.info); });
    head_gradients_.assign(index(gradient_sets), AlignedVector<T>(embedding->size(), T(0)));
  }
  use_values(0);
  use_gradients(0);
}

template <class T>
void Parameters<T>::use_values(std::int32_t version) {
  version_ = version;
  values_begin_ = values().data();
}

template <class T>
void Parameters<T>::use_gradients(std::int32_t set) {
  set_ = set;
  gradients_begin_ = gradients().data();
  if (has_both_ends()) head_gradients_begin_ = head_gradients_[index(set_)].data();
}

template <class T>
void Parameters<T>::copy_values_to(std::int32_t version) {
  std::ranges::copy(values(), values_[index(version)].begin());
}

template <class T>
Parameter<T> Parameters<T>::find(std::int32_t block, std::string_view suffix) {
  for (const PartTensor& tensor : tensors_) {
    if (tensor.info.block == block && ends_in(tensor.info.name, suffix)) {
      return {&values_begin_, &gradients_begin_, tensor.offset, tensor.offset};
    }
  }
  return {};
}

template <class T>
Parameter<T> Parameters<T>::head_weight() {
  if (!tied_) return find(head_block_, "lm_head.weight");
  for (const PartTensor& tensor : tensors_) {
    if (!is_token_embedding(tensor.info)) continue;
    if (has_both_ends()) return {&values_begin_, &head_gradients_begin_, tensor.offset, 0};
    return {&values_begin_, &gradients_begin_, tensor.offset, tensor.offset};
  }
  assert(false && "a part with a tied head holds the embedding");
  return {};
}

template <class T>
const PartTensor* Parameters<T>::shared() const {
  if (!tied_ || has_both_ends()) return nullptr;
  for (const PartTensor& tensor : tensors_) {
    if (is_token_embedding(tensor.info)) return &tensor;
  }
  return nullptr;
}

template <class T>
void Parameters<T>::clear_gradients() {
  std::ranges::fill(gradients(), T(0));
  if (has_both_ends()) std::ranges::fill(head_gradients_[index(set_)], T(0));
}

template <class T>
void Parameters<T>::fold_tied() {
  if (!has_both_ends()) return;
  for (const PartTensor& tensor : tensors_) {
    if (!is_token_embedding(tensor.info)) continue;
    const std::span<T> sum = gradients(tensor);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += head_gradients_begin_[i];
  }
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace penstock
