#include "step_sums.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "actor_plan.h"
#include "gather.h"
#include "penstock/index.h"
#include "windows.h"

namespace penstock {
namespace {

// By loss along the routes (the last is the model's own), microbatch and slice.
std::vector<std::vector<Op>> ops_with_loss(const Pipeline& pipeline) {
  std::vector<std::vector<Op>> losses;
  const std::vector<StageWindows> windows = stage_windows(pipeline);
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    const Microbatch& microbatch = pipeline.microbatches[m];
    for (const std::int32_t stage : pipeline.routes[index(microbatch.route)]) {
      const StageWindows& of_stage = windows[index(stage)];
      if (!of_stage.has_loss) continue;
      const auto loss = index(of_stage.loss);
      if (loss >= losses.size()) losses.resize(loss + 1);
      for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
        losses[loss].push_back({OpKind::Forward, stage, static_cast<std::int32_t>(m), slice});
      }
    }
  }
  return losses;
}

// In tensor order; one that two stages share counts once.
double norm_of(const std::map<std::int32_t, double>& squared) {
  double sum = 0;
  for (const auto& [tensor, value] : squared) sum += value;
  return std::sqrt(sum);
}

}  // namespace

std::vector<std::int32_t> stages_of(const Pipeline& pipeline, std::int32_t actor) {
  std::vector<std::int32_t> stages;
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    if (pipeline.stages[s].actor == actor) stages.push_back(static_cast<std::int32_t>(s));
  }
  return stages;
}

StepSums::StepSums(const RunPlan& plan, Device& device, Transport& transport)
    : plan_(plan),
      device_(device),
      transport_(transport),
      own_stages_(exchanges_norms(plan.program)
                      ? stages_of(plan.program.schedule.pipeline, transport.actor())
                      : std::vector<std::int32_t>()),
      loss_ops_(ops_with_loss(plan.program.schedule.pipeline)) {
  for (const std::vector<Op>& ops : loss_ops_) losses_ += ops.size();
  std::uint64_t mine = 0;
  for (const std::int32_t stage : own_stages_) mine += device.squared_norms(stage).size();
  norms_ = gather_one(transport, mine);
  block_.resize(losses_ + 2 * *std::max_element(norms_.begin(), norms_.end()));
  blocks_.resize(block_.size() * norms_.size());
}

void StepSums::measure() {
  std::size_t at = 0;
  for (const std::vector<Op>& ops : loss_ops_) {
    for (const Op& op : ops) {
      block_[at++] = actor_of(op) == transport_.actor() ? device_.loss_sum(op) : 0;
    }
  }
  for (const std::int32_t stage : own_stages_) {
    for (const TensorNorm& norm : device_.squared_norms(stage)) {
      assert(at + 2 <= block_.size() && "a stage has the same tensors in every step");
      block_[at++] = norm.tensor;
      block_[at++] = norm.squared;
    }
  }
  const std::span<double> mine = of_first(transport_.actor() + 1).last(block_.size());
  std::copy(block_.begin(), block_.end(), mine.begin());
}

void StepSums::exchange() {
  measure();
  transport_.all_gather(std::as_bytes(std::span(block_)),
                        std::as_writable_bytes(std::span(blocks_)));
}

std::span<double> StepSums::of_first(std::int32_t actors) {
  return std::span(blocks_).first(index(actors) * block_.size());
}

// Token-weighted, in the order of microbatches and slices.
std::vector<double> StepSums::mean_losses(std::int32_t step) const {
  std::vector<double> means;
  std::size_t at = 0;
  for (const std::vector<Op>& ops : loss_ops_) {
    means.push_back(mean_loss(step, ops, at));
    at += ops.size();
  }
  return means;
}

// `first`: where the ops' losses are in an actor's block.
double StepSums::mean_loss(std::int32_t step, std::span<const Op> ops, std::size_t first) const {
  double sum = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    const double loss = block_of(actor_of(op))[first + i];
    if (!std::isfinite(loss)) {
      throw RunError(
          fmt::format("step {}", step),
          fmt::format("the loss of microbatch {} is not a finite number (actor {}, op {})",
                      op.microbatch, actor_of(op), to_string(op)),
          kDiverged);
    }
    sum += loss;
  }
  return sum / (static_cast<double>(plan_.batch.global) * plan_.batch.sequence);
}

double StepSums::global_norm(std::int32_t step) const {
  std::map<std::int32_t, double> squared;
  for (std::int32_t actor = 0; actor < transport_.actors(); ++actor) {
    const std::span<const double> norms = norms_of(actor);
    for (std::size_t i = 0; i < norms.size(); i += 2) {
      const auto tensor = static_cast<std::int32_t>(norms[i]);
      if (!std::isfinite(norms[i + 1])) {
        throw RunError(
            fmt::format("step {}", step),
            fmt::format("the gradient of tensor {} (on actor {}) is not finite", tensor, actor),
            kDiverged);
      }
      squared[tensor] = norms[i + 1];
    }
  }
  return norm_of(squared);
}

double StepSums::partial_norm(std::int32_t actors) const {
  std::map<std::int32_t, double> squared;
  for (std::int32_t actor = 0; actor < actors; ++actor) {
    const std::span<const double> norms = norms_of(actor);
    for (std::size_t i = 0; i < norms.size(); i += 2) {
      squared[static_cast<std::int32_t>(norms[i])] = norms[i + 1];
    }
  }
  return norm_of(squared);
}

std::int32_t StepSums::actor_of(const Op& op) const {
  return plan_.program.schedule.pipeline.stages[index(op.stage)].actor;
}

std::span<const double> StepSums::block_of(std::int32_t actor) const {
  return std::span(blocks_).subspan(index(actor) * block_.size(), block_.size());
}

// Tensor, squared norm, tensor, ...
std::span<const double> StepSums::norms_of(std::int32_t actor) const {
  return block_of(actor).subspan(losses_, 2 * norms_[index(actor)]);
}

}  // namespace penstock
