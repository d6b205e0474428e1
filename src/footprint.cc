#include "penstock/footprint.h"

#include "models/matrices.h"
#include "models/saved.h"

namespace penstock {
namespace {

// Values of norms and of the bias that balances experts: every device has all of them.
std::int64_t uncut_vectors(const Model& model, std::int32_t block) {
  std::int64_t sum = 0;
  for (const ModelTensor& tensor : block_tensors(model, block)) {
    if (tensor.shape.size() == 1) sum += tensor.size();
  }
  for (const Matrix& matrix : matrices(model, block, {})) {
    if (matrix.bias) sum -= matrix.out;
  }
  return sum;
}

std::int64_t embedding_values(const Model& model, const Parallel& parallel) {
  return divided(model.vocabulary, parallel.tensor) * model.hidden;
}

// Weights, gradients and optimizer state of `values` that `replicas` devices hold.
void add_state(std::int64_t values, std::int64_t replicas, std::int32_t zero,
               const StateBytes& state, Footprint& sum) {
  const auto share = [&](std::int32_t from_stage) {
    return zero >= from_stage ? divided(values, replicas) : values;
  };
  sum.weights += share(3) * state.weights;
  sum.gradients += share(2) * state.gradients;
  sum.optimizer += share(1) * state.optimizer;
  if (zero >= 3) sum.gathered_weights += values * state.weights;
}

}  // namespace

std::int64_t value_bytes(Precision precision) {
  return precision == Precision::Fp32 ? 4 : 2;
}

Footprint& Footprint::operator+=(const Footprint& other) {
  weights += other.weights;
  gradients += other.gradients;
  optimizer += other.optimizer;
  gathered_weights += other.gathered_weights;
  activations += other.activations;
  kept += other.kept;
  weight_pass += other.weight_pass;
  return *this;
}

TrainedValues trained_values(const Model& model, std::int32_t block, const Parallel& parallel) {
  TrainedValues values;
  values.dense = uncut_vectors(model, block);
  if (block == 0) {
    values.dense += embedding_values(model, parallel);
    if (model.positions == Positions::Learned) {
      values.dense += std::int64_t{model.max_positions} * model.hidden;
    }
  }
  for (const Matrix& matrix : matrices(model, block, parallel)) {
    if (matrix.use == ProductUse::Head) {
      if (!model.tied_embeddings) values.dense += matrix.in * matrix.out;
      continue;
    }
    const std::int64_t size = matrix.in * matrix.out + (matrix.bias ? matrix.out : 0);
    (matrix.is_expert ? values.experts : values.dense) += size * matrix.copies;
  }
  return values;
}

Footprint footprint(const Model& model, std::int32_t block, const TokenRange& range,
                    const Parallel& parallel, const FootprintChoice& choice) {
  Footprint sum;
  const TrainedValues values = trained_values(model, block, parallel);
  add_state(values.dense, parallel.replicas(), parallel.zero, choice.state, sum);
  add_state(values.experts, parallel.expert_replicas(), parallel.zero, choice.state, sum);
  for (const Saved& saved : saved_tensors(model, block, range, parallel, choice)) {
    sum.activations += saved.bytes;
    if (!saved.is_core || choice.recompute == RecomputeChoice::None) sum.kept += saved.bytes;
    if (saved.for_weight) sum.weight_pass += saved.bytes;
  }
  const bool is_remade = block > 0 && block < model.head_block();
  if (is_remade && choice.recompute == RecomputeChoice::Full) {
    sum.kept = tokens_between(range, parallel) * model.hidden * value_bytes(choice.precision);
  }
  sum.weight_pass += output_gradient_bytes(model, block, range, parallel, choice);
  return sum;
}

Footprint part_footprint(const Model& model, std::int32_t first, std::int32_t end,
                         const TokenRange& range, const Parallel& parallel,
                         const FootprintChoice& choice) {
  Footprint sum;
  bool needs_copy = false;
  for (std::int32_t block = first; block < end; ++block) {
    sum += footprint(model, block, range, parallel, choice);
    needs_copy = needs_copy || model.is_prediction(block) ||
                 (block == model.head_block() && model.tied_embeddings);
  }
  if (needs_copy && first > 0) {
    add_state(embedding_values(model, parallel), parallel.replicas(), parallel.zero, choice.state,
              sum);
  }
  return sum;
}

std::int64_t boundary_bytes(const Model& model, std::int32_t block, const TokenRange& range,
                            const Parallel& parallel, Precision precision, bool scatter_gather) {
  const std::int64_t predictions = model.is_prediction(block) ? block - model.layers : 0;
  const std::int64_t tokens = parallel.sequence || !scatter_gather
                                  ? tokens_between(range, parallel)
                                  : divided(tokens_in(range, parallel), parallel.tensor);
  return (1 + predictions) * tokens * model.hidden * value_bytes(precision);
}

std::int64_t kv_cache_bytes(const Model& model, std::int32_t block, const TokenRange& range,
                            const Parallel& parallel, Precision precision, CachedAs cached) {
  if (block == 0 || block >= model.head_block()) return 0;
  const std::int64_t bytes = tokens_in(range, parallel) * value_bytes(precision);
  if (cached == CachedAs::Latent && model.latent) {
    return bytes * (model.latent->kv_rank + model.latent->rope_size);
  }
  const HeadShapes heads = head_shapes(model, parallel);
  return bytes * heads.keys * (heads.key_size + heads.value_size);
}

std::int64_t logits_bytes(const Model& model, const TokenRange& range, const Parallel& parallel) {
  return tokens_in(range, parallel) * divided(model.vocabulary, parallel.tensor) * 4;
}

}  // namespace penstock
