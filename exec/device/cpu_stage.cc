#include "device/cpu_stage.h"

#include <algorithm>
#include <cassert>

#include "model/initial_values.h"

namespace penstock {

namespace {

std::span<float> slice(AlignedVector<float>& values, const PartTensor& tensor) {
  return std::span<float>(values).subspan(tensor.offset, tensor.size());
}

}  // namespace

int StageSizes::max_rows() const {
  return rows.empty() ? 0 : std::ranges::max(rows);
}

CpuStage::CpuStage(const Model& model, BlockRange blocks, const StageSizes& sizes,
                   std::span<const Op> order, std::uint64_t seed)
    : sizes_(sizes),
      hidden_(model.hidden),
      slots_(share_out(order, static_cast<std::int32_t>(sizes.rows.size()))),
      parameters_(model, blocks),
      part_(model, blocks, sizes.tokens, sizes.max_rows(), sizes.gradient_scale, parameters_),
      first_moments_(parameters_.values().size(), 0.0f),
      second_moments_(parameters_.values().size(), 0.0f),
      activations_(static_cast<std::size_t>(slots_.kept_count)),
      gradients_(static_cast<std::size_t>(slots_.gradient_count)),
      inputs_(sizes.rows.size()),
      losses_(sizes.rows.size(), 0.0) {
  for (const PartTensor& tensor : parameters_.tensors()) {
    fill_initial(model, tensor.info, seed, parameters_.values(tensor));
  }
  const int rows = sizes_.max_rows();
  for (Activations& each : activations_) {
    each.buffer.assign(part_.kept_values(rows), 0.0f);
    part_.carve_kept(each.buffer.data(), rows, each.layout);
  }
  for (OutputGradients& each : gradients_) {
    each.buffer.assign(part_.gradient_values(rows), 0.0f);
    part_.carve_gradients(each.buffer.data(), rows, each.layout);
  }
}

void CpuStage::begin_step() {
  parameters_.clear_gradients();
  weight_gradients_left_ = slots_.weight_gradients;
}

void CpuStage::run(const Op& op, TokenRows tokens, std::span<const float> input,
                   std::span<float> output) {
  if (op.kind == OpKind::Forward) forward(op, tokens, input, output);
  if (gives_input_gradient(op.kind)) backward_input(op, input, output);
  if (gives_weight_gradient(op.kind)) backward_weight(op);
}

CpuStage::Activations& CpuStage::activations(const Op& op) {
  const std::int32_t slot = slots_.kept[static_cast<std::size_t>(op.microbatch)];
  assert(slot >= 0 && "the microbatch passes this stage");
  return activations_[static_cast<std::size_t>(slot)];
}

CpuStage::OutputGradients& CpuStage::output_gradients(const Op& op) {
  const std::int32_t slot = slots_.gradient[static_cast<std::size_t>(op.microbatch)];
  assert(slot >= 0 && "the microbatch has a backward on this stage");
  return gradients_[static_cast<std::size_t>(slot)];
}

void CpuStage::forward(const Op& op, TokenRows tokens, std::span<const float> input,
                       std::span<float> output) {
  const auto microbatch = static_cast<std::size_t>(op.microbatch);
  const int rows = sizes_.rows[microbatch];
  inputs_[microbatch] = {.rows = rows,
                         .ids = tokens.ids,
                         .targets = tokens.targets,
                         .x = input.empty() ? Matrix<const float>()
                                            : Matrix<const float>(input.data(), rows, hidden_)};
  Activations& kept = activations(op);
  part_.carve_kept(kept.buffer.data(), rows, kept.layout);
  losses_[microbatch] =
      part_.forward(inputs_[microbatch], kept.layout,
                    output.empty() ? Matrix<float>() : Matrix<float>(output.data(), rows, hidden_));
}

void CpuStage::backward_input(const Op& op, std::span<const float> input, std::span<float> output) {
  const auto microbatch = static_cast<std::size_t>(op.microbatch);
  const int rows = sizes_.rows[microbatch];
  OutputGradients& gradients = output_gradients(op);
  part_.carve_gradients(gradients.buffer.data(), rows, gradients.layout);
  part_.backward_input(
      inputs_[microbatch], activations(op).layout, gradients.layout,
      input.empty() ? Matrix<const float>() : Matrix<const float>(input.data(), rows, hidden_),
      output.empty() ? Matrix<float>() : Matrix<float>(output.data(), rows, hidden_));
}

void CpuStage::backward_weight(const Op& op) {
  part_.backward_weight(inputs_[static_cast<std::size_t>(op.microbatch)], activations(op).layout,
                        output_gradients(op).layout);
  if (--weight_gradients_left_ == 0) parameters_.fold_tied();
}

double CpuStage::loss_sum(std::int32_t microbatch) const {
  return losses_[static_cast<std::size_t>(microbatch)];
}

std::int64_t CpuStage::activation_bytes() const {
  return static_cast<std::int64_t>(part_.kept_values(sizes_.max_rows()) * sizeof(float));
}

std::int64_t CpuStage::weight_bytes() const {
  // Values, gradients and two moments.
  return static_cast<std::int64_t>(4 * parameters_.values().size() * sizeof(float));
}

std::span<float> CpuStage::shared_gradient() {
  const PartTensor* shared = parameters_.shared();
  return shared == nullptr ? std::span<float>() : parameters_.gradients(*shared);
}

std::vector<TensorNorm> CpuStage::squared_norms() const {
  std::vector<TensorNorm> norms;
  for (const PartTensor& tensor : parameters_.tensors()) {
    norms.push_back(
        {.tensor = tensor.tensor, .squared = square_sum(parameters_.gradients(tensor))});
  }
  return norms;
}

void CpuStage::update(const Optimizer& optimizer, const AdamwStep& step) {
  for (const PartTensor& tensor : parameters_.tensors()) {
    adamw({.values = parameters_.values(tensor),
           .gradients = parameters_.gradients(tensor),
           .first_moment = slice(first_moments_, tensor),
           .second_moment = slice(second_moments_, tensor),
           .decayed = tensor.info.decayed},
          optimizer, step);
  }
}

std::vector<ParameterView> CpuStage::parameters() const {
  std::vector<ParameterView> views;
  for (const PartTensor& tensor : parameters_.tensors()) {
    views.push_back({.name = tensor.info.name,
                     .shape = tensor.info.shape,
                     .values = parameters_.values(tensor)});
  }
  return views;
}

void CpuStage::save() {
  const std::span<const float> values = parameters_.values();
  saved_.values.assign(values.begin(), values.end());
  saved_.first_moments = first_moments_;
  saved_.second_moments = second_moments_;
}

void CpuStage::restore() {
  assert(saved_.values.size() == parameters_.values().size() && "save() comes first");
  std::ranges::copy(saved_.values, parameters_.values().begin());
  first_moments_ = saved_.first_moments;
  second_moments_ = saved_.second_moments;
}

}  // namespace penstock
