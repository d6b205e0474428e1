#include "penstock/model.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>

#include "models/family.h"

namespace penstock {
namespace {

std::int64_t size_of_blocks(const Model& model, std::int32_t first, std::int32_t end) {
  std::int64_t sum = 0;
  for (std::int32_t block = first; block < end; ++block) {
    for (const ModelTensor& tensor : block_tensors(model, block)) sum += tensor.size();
  }
  return sum;
}

// Of the routed experts of one layer, those that a token does not meet.
std::int64_t idle_expert_parameters(const Model& model) {
  const MixtureOfExperts& moe = *model.experts;
  const std::int64_t matrices = model.gated_mlp ? 3 : 2;
  return (moe.experts - moe.per_token) * matrices * model.hidden * moe.ffn;
}

}  // namespace

bool Model::has_experts(std::int32_t block) const {
  if (!experts || block < 1 || block >= head_block()) return false;
  return !std::ranges::binary_search(experts->dense_layers, block - 1);
}

std::int64_t ModelTensor::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<ModelTensor> block_tensors(const Model& model, std::int32_t block) {
  assert(block >= 0 && block < model.blocks() && "the model has the block");
  std::vector<ModelTensor> tensors;
  family_row(model.family).add_block(model, block, tensors);
  return tensors;
}

std::vector<ModelTensor> model_tensors(const Model& model) {
  std::vector<ModelTensor> tensors;
  for (std::int32_t block = 0; block < model.blocks(); ++block) {
    family_row(model.family).add_block(model, block, tensors);
  }
  return tensors;
}

std::int64_t parameters(const Model& model) {
  return size_of_blocks(model, 0, model.blocks()) - prediction_parameters(model);
}

std::int64_t active_parameters(const Model& model) {
  std::int64_t sum = parameters(model);
  for (std::int32_t block = 1; block <= model.layers; ++block) {
    if (model.has_experts(block)) sum -= idle_expert_parameters(model);
  }
  return sum;
}

std::int64_t prediction_parameters(const Model& model) {
  return size_of_blocks(model, model.layers + 1, model.head_block());
}

}  // namespace penstock
