#include "step_end.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "gather.h"
#include "optimizer/learning_rate.h"

namespace penstock {
namespace {

constexpr const char* kDiverged = "a lower learning rate or more warm-up steps may help";

std::vector<std::int32_t> stages_of(const Pipeline& pipeline, std::int32_t actor) {
  std::vector<std::int32_t> stages;
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    if (pipeline.stages[s].actor == actor) stages.push_back(static_cast<std::int32_t>(s));
  }
  return stages;
}

std::vector<Op> ops_with_loss(const Pipeline& pipeline) {
  std::vector<Op> ops;
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    const Microbatch& microbatch = pipeline.microbatches[m];
    const Route& route = pipeline.routes[static_cast<std::size_t>(microbatch.route)];
    for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
      ops.push_back({OpKind::Forward, route.back(), static_cast<std::int32_t>(m), slice});
    }
  }
  return ops;
}

}  // namespace

StepEnd::StepEnd(const RunPlan& plan, Device& device, Transport& transport)
    : plan_(plan),
      device_(device),
      transport_(transport),
      shared_(plan.program, device, transport),
      own_stages_(stages_of(plan.program.schedule.pipeline, transport.actor())),
      loss_ops_(ops_with_loss(plan.program.schedule.pipeline)) {
  std::uint64_t mine = 0;
  for (const std::int32_t stage : own_stages_) mine += device.squared_norms(stage).size();
  norms_ = gather_one(transport, mine);
  block_.resize(loss_ops_.size() + 2 * *std::max_element(norms_.begin(), norms_.end()));
  blocks_.resize(block_.size() * norms_.size());
}

void StepEnd::begin_step(std::int64_t step, double learning_rate) {
  step_ = step;
  record_ = {.step = static_cast<std::int32_t>(step + 1),
             .gradient_norm = std::numeric_limits<double>::quiet_NaN(),
             .learning_rate = learning_rate};
}

void StepEnd::exchange_norms() {
  exchange_losses();
  if (!device_.learns()) return;
  record_.gradient_norm = global_norm();
  gradient_scale_ = clip_scale(record_.gradient_norm, plan_.train.optimizer.clip);
}

void StepEnd::update(std::int32_t stage) {
  device_.update(stage, step_, record_.learning_rate, gradient_scale_);
}

std::int32_t StepEnd::actor_of(const Op& op) const {
  return plan_.program.schedule.pipeline.stages[static_cast<std::size_t>(op.stage)].actor;
}

std::span<const double> StepEnd::block_of(std::int32_t actor) const {
  return std::span(blocks_).subspan(static_cast<std::size_t>(actor) * block_.size(), block_.size());
}

void StepEnd::exchange_losses() {
  std::size_t at = 0;
  for (const Op& op : loss_ops_) {
    block_[at++] = actor_of(op) == transport_.actor() ? device_.loss_sum(op) : 0;
  }
  for (const std::int32_t stage : own_stages_) {
    for (const TensorNorm& norm : device_.squared_norms(stage)) {
      assert(at + 2 <= block_.size() && "a stage has the same tensors in every step");
      block_[at++] = norm.tensor;
      block_[at++] = norm.squared;
    }
  }
  transport_.all_gather(std::as_bytes(std::span(block_)),
                        std::as_writable_bytes(std::span(blocks_)));
  record_.loss = device_.learns() ? mean_loss() : std::numeric_limits<double>::quiet_NaN();
}

// Token-weighted, in the order of microbatches and slices.
double StepEnd::mean_loss() const {
  double sum = 0;
  for (std::size_t i = 0; i < loss_ops_.size(); ++i) {
    const double loss = block_of(actor_of(loss_ops_[i]))[i];
    if (!std::isfinite(loss)) throw_bad_loss(loss_ops_[i]);
    sum += loss;
  }
  return sum / (static_cast<double>(plan_.batch.global) * plan_.batch.sequence);
}

// In tensor order; one that two stages share counts once.
double StepEnd::global_norm() const {
  std::map<std::int32_t, double> squared;
  for (std::int32_t actor = 0; actor < transport_.actors(); ++actor) {
    const std::span<const double> norms = block_of(actor).subspan(loss_ops_.size());
    for (std::size_t i = 0; i < norms_[static_cast<std::size_t>(actor)]; ++i) {
      const auto tensor = static_cast<std::int32_t>(norms[2 * i]);
      if (!std::isfinite(norms[2 * i + 1])) {
        throw RunError(
            fmt::format("step {}", record_.step),
            fmt::format("the gradient of tensor {} (on actor {}) is not finite", tensor, actor),
            kDiverged);
      }
      squared[tensor] = norms[2 * i + 1];
    }
  }
  double sum = 0;
  for (const auto& [tensor, value] : squared) sum += value;
  return std::sqrt(sum);
}

void StepEnd::throw_bad_loss(const Op& op) const {
  throw RunError(fmt::format("step {}", record_.step),
                 fmt::format("the loss of microbatch {} is not a finite number (actor {}, op {})",
                             op.microbatch, actor_of(op), to_string(op)),
                 kDiverged);
}

}  // namespace penstock
