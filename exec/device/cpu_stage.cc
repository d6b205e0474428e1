#include "device/cpu_stage.h"

#include <algorithm>
#include <cassert>

#include "model/initial_values.h"
#include "penstock/index.h"

namespace penstock {

namespace {

std::span<float> slice(AlignedVector<float>& values, const PartTensor& tensor) {
  return std::span<float>(values).subspan(tensor.offset, tensor.size());
}

RecomputeChoice choice_for(std::span<const Op> order, RecomputeChoice asked_for) {
  const bool recomputes =
      std::ranges::any_of(order, [](const Op& op) { return op.kind == OpKind::Recompute; });
  return recomputes ? asked_for : RecomputeChoice::None;
}

std::vector<ModelTensor> tensors_of_loss(const Model& model, const StageWork& work) {
  if (!work.local_head) return {};
  return local_head_tensors(model, *work.local_head, work.blocks.end - 1);
}

}  // namespace

CpuStage::CpuStage(const Model& model, const StageWork& work, const StageSizes& sizes,
                   std::span<const Op> order, std::uint64_t seed, bool keeps_a_copy)
    : sizes_(sizes),
      work_(work),
      hidden_(model.hidden),
      slots_(share_out(order, sizes.units)),
      versions_(order, sizes.units),
      parameters_(model, work.blocks, tensors_of_loss(model, work), versions_.value_buffers(),
                  versions_.gradient_buffers()),
      part_(model, work.blocks, sizes.tokens, sizes.slices, sizes.gradient_scale, parameters_,
            {.recompute = choice_for(order, sizes.recompute), .local_head = work.local_head}),
      first_moments_(parameters_.values().size(), 0.0f),
      second_moments_(parameters_.values().size(), 0.0f),
      activations_(index(slots_.kept_count)),
      remade_(index(slots_.remade_count)),
      gradients_(index(slots_.gradient_count)),
      inputs_(sizes.units.count()),
      kept_(sizes.units.count()),
      gathered_(sizes.units.count()),
      losses_(sizes.units.count(), 0.0) {
  parameters_.use_values(versions_.current());
  for (const PartTensor& tensor : parameters_.tensors()) {
    fill_initial(model, tensor.info, seed, parameters_.values(tensor));
  }
  if (keeps_a_copy) keep();
  // Each buffer fits every slice; carved once here, so that layouts have their storage.
  for (const TokenSlice& slice : sizes_.slices) {
    const KeptValues values = part_.kept_values(slice);
    for (AlignedVector<float>& each : remade_) {
      each.resize(std::max(each.size(), values.remade));
    }
    for (Activations& each : activations_) {
      each.buffer.resize(std::max(each.buffer.size(), values.lasting));
      part_.carve_kept(each.buffer.data(), nullptr, slice, each.layout);
    }
    for (OutputGradients& each : gradients_) {
      each.layouts.resize(index(std::max(1, work_.windows.count_of_input_gradient())));
      const std::size_t values_of_all = each.layouts.size() * part_.gradient_values(slice);
      each.buffer.resize(std::max(each.buffer.size(), values_of_all));
      carve_gradients(each, slice);
    }
  }
}

void CpuStage::clear_gradients() {
  for (std::int32_t set = versions_.gradient_buffers(); set-- > 0;) {
    parameters_.use_gradients(set);
    parameters_.clear_gradients();
  }
  weight_gradients_left_ = slots_.weight_gradients;
}

void CpuStage::run(const Op& op, TokenRows tokens, std::span<const float> input,
                   std::span<float> output) {
  parameters_.use_values(versions_.values_of(op));
  if (gives_weight_gradient(op.kind)) parameters_.use_gradients(versions_.gradients_of(op));
  if (op.kind == OpKind::Forward) forward(op, tokens, input, output);
  if (op.kind == OpKind::Recompute) recompute(op);
  if (gives_input_gradient(op.kind)) backward_input(op, input, output);
  if (gives_weight_gradient(op.kind)) backward_weight(op, input);
  versions_.finish(op);
  parameters_.use_values(versions_.current());
}

// The tensor `number` of several of a slice, one behind the other.
template <class T>
Matrix<T> CpuStage::rows_of(const TokenSlice& slice, std::span<T> values,
                            std::int32_t number) const {
  if (values.empty()) return {};
  const std::size_t size = index(slice.rows()) * index(hidden_);
  return {values.subspan(index(number) * size, size).data(), slice.rows(), hidden_};
}

CpuStage::Activations& CpuStage::activations(std::size_t unit) {
  const std::int32_t slot = slots_.kept[unit];
  assert(slot >= 0 && "the microbatch passes this stage");
  return activations_[index(slot)];
}

CpuStage::OutputGradients& CpuStage::output_gradients(std::size_t unit) {
  const std::int32_t slot = slots_.gradient[unit];
  assert(slot >= 0 && "the microbatch has a backward on this stage");
  return gradients_[index(slot)];
}

// Lays the slice out, with what is made again in buffer `remade`; -1: nothing is.
void CpuStage::carve(std::size_t unit, std::int32_t remade) {
  Activations& kept = activations(unit);
  float* const again = remade < 0 ? nullptr : remade_[index(remade)].data();
  part_.carve_kept(kept.buffer.data(), again, sizes_.slices[unit], kept.layout);
  kept_[unit] = &kept.layout;
}

void CpuStage::forward(const Op& op, TokenRows tokens, std::span<const float> input,
                       std::span<float> output) {
  const std::size_t unit = sizes_.units.of(op);
  const TokenSlice& slice = sizes_.slices[unit];
  const std::size_t first = sizes_.units.of(op.microbatch, 0);
  inputs_[unit] = {.slice = slice,
                   .ids = tokens.ids,
                   .targets = tokens.targets,
                   .x = rows_of(slice, input),
                   .earlier_kept = std::span(kept_).subspan(first, unit - first),
                   .earlier_gradients = {}};
  carve(unit, slots_.at_first[unit]);
  losses_[unit] = part_.forward(inputs_[unit], activations(unit).layout, rows_of(slice, output));
}

void CpuStage::recompute(const Op& op) {
  const std::size_t unit = sizes_.units.of(op);
  carve(unit, slots_.remade[unit]);
  part_.make_again(inputs_[unit], activations(unit).layout);
}

// The last slice adds to the gradients of all slices' keys and values.
void CpuStage::open_gradients(std::int32_t microbatch) {
  for (std::int32_t slice = 0; slice < sizes_.units.slices(microbatch); ++slice) {
    const std::size_t unit = sizes_.units.of(microbatch, slice);
    OutputGradients& gradients = output_gradients(unit);
    carve_gradients(gradients, sizes_.slices[unit]);
    gathered_[unit] = &gradients.layouts[0];
  }
}

void CpuStage::carve_gradients(OutputGradients& gradients, const TokenSlice& slice) const {
  float* buffer = gradients.buffer.data();
  for (PartGradients<float>& layout : gradients.layouts) {
    buffer += part_.carve_gradients(buffer, slice, layout);
  }
}

// What is late is left to the weight gradient, in B as in W.

void CpuStage::backward_input(const Op& op, std::span<const float> input, std::span<float> output) {
  const std::size_t unit = sizes_.units.of(op);
  const std::size_t first = sizes_.units.of(op.microbatch, 0);
  if (op.slice + 1 == sizes_.units.slices(op.microbatch)) open_gradients(op.microbatch);
  inputs_[unit].earlier_gradients = std::span(gathered_).subspan(first, unit - first);
  const OutputGradients& gradients = output_gradients(unit);
  for (std::int32_t window = 0; window < work_.windows.count_of_input_gradient(); ++window) {
    pass_back(unit, window, gradients.layouts[index(window)], input, output);
  }
}

void CpuStage::backward_weight(const Op& op, std::span<const float> input) {
  const std::size_t unit = sizes_.units.of(op);
  const OutputGradients& gradients = output_gradients(unit);
  const std::int32_t passed = work_.windows.count_of_input_gradient();
  for (std::int32_t window = 0; window < passed; ++window) {
    add_weight_gradient(unit, window, gradients.layouts[index(window)]);
  }
  for (std::int32_t window = passed; window < work_.windows.count(); ++window) {
    pass_back(unit, window, gradients.layouts[0], input, {});
    add_weight_gradient(unit, window, gradients.layouts[0]);
  }
  if (--weight_gradients_left_ == 0 && !versions_.updates_inside()) parameters_.fold_tied();
}

// From the window's loss, or the gradient of it that the stage behind sent.
void CpuStage::pass_back(std::size_t unit, std::int32_t window,
                         const PartGradients<float>& gradients, std::span<const float> input,
                         std::span<float> output) {
  const bool is_sent = window < work_.windows.sent;
  if (!is_sent && !is_own_loss(window) && !learns_from(window)) return;
  const TokenSlice& slice = sizes_.slices[unit];
  const std::int32_t own = work_.windows.has_loss ? 1 : 0;
  const Matrix<const float> dy =
      is_own_loss(window) ? Matrix<const float>() : rows_of(slice, input, window - own);
  const Matrix<float> dx = is_sent ? rows_of(slice, output, window) : Matrix<float>();
  part_.backward_input(inputs_[unit], activations(unit).layout, gradients, dy, dx);
}

void CpuStage::add_weight_gradient(std::size_t unit, std::int32_t window,
                                   const PartGradients<float>& gradients) {
  const PartKept<float>& kept = activations(unit).layout;
  if (is_own_loss(window)) part_.backward_loss_weight(inputs_[unit], kept, gradients);
  if (learns_from(window)) part_.backward_weight(inputs_[unit], kept, gradients);
}

bool CpuStage::learns_from(std::int32_t window) const {
  return work_.combine == Combine::Sum || window + 1 == work_.windows.count();
}

std::int64_t CpuStage::activation_bytes() const {
  return bytes_of_microbatch(true);
}

std::int64_t CpuStage::kept_bytes() const {
  return bytes_of_microbatch(false);
}

// Of a whole microbatch, the largest one; the activation that it gets included, which stays where
// it was received.
std::int64_t CpuStage::bytes_of_microbatch(bool with_remade) const {
  std::size_t largest = 0;
  for (std::size_t unit = 0, values = 0; unit < sizes_.slices.size(); ++unit) {
    const TokenSlice& slice = sizes_.slices[unit];
    const KeptValues kept = part_.kept_values(slice);
    const std::size_t input = part_.is_first() ? 0 : index(slice.rows()) * index(hidden_);
    values =
        (slice.first == 0 ? 0 : values) + input + kept.lasting + (with_remade ? kept.remade : 0);
    largest = std::max(largest, values);
  }
  return static_cast<std::int64_t>(largest * sizeof(float));
}

std::int64_t CpuStage::weight_bytes() const {
  // Values and gradients, both maybe several times, and two moments; a copy of all but the
  // gradients.
  const auto buffers = index(versions_.value_buffers() + versions_.gradient_buffers());
  const std::size_t copies = buffers + (copy_.values.empty() ? 2 : 5);
  return static_cast<std::int64_t>(copies * parameters_.values().size() * sizeof(float));
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
  if (versions_.updates_inside()) {
    const std::int32_t from = versions_.current();
    const Versions::Update update = versions_.update();
    parameters_.use_gradients(update.gradients);
    parameters_.fold_tied();
    if (update.to != from) parameters_.copy_values_to(update.to);
    parameters_.use_values(update.to);
  }
  for (const PartTensor& tensor : parameters_.tensors()) {
    adamw({.values = parameters_.values(tensor),
           .gradients = parameters_.gradients(tensor),
           .first_moment = slice(first_moments_, tensor),
           .second_moment = slice(second_moments_, tensor),
           .decayed = tensor.info.decayed},
          optimizer, step);
  }
  if (versions_.updates_inside()) parameters_.clear_gradients();
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

void CpuStage::reset_optimizer() {
  std::ranges::fill(first_moments_, 0.0f);
  std::ranges::fill(second_moments_, 0.0f);
}

void CpuStage::keep() {
  const std::span<const float> values = parameters_.values();
  copy_.values.assign(values.begin(), values.end());
  copy_.first_moments = first_moments_;
  copy_.second_moments = second_moments_;
}

void CpuStage::roll_back() {
  assert(copy_.values.size() == parameters_.values().size() && "it was kept before");
  std::ranges::copy(copy_.values, parameters_.values().begin());
  first_moments_ = copy_.first_moments;
  second_moments_ = copy_.second_moments;
}

}  // namespace penstock
