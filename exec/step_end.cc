#include "step_end.h"

#include <limits>
#include <utility>

#include "optimizer/learning_rate.h"

namespace penstock {

StepEnd::StepEnd(const RunPlan& plan, Device& device, Transport& transport)
    : plan_(plan),
      device_(device),
      shared_(plan.program, device, transport),
      sums_(plan, device, transport),
      inside_(plan.program),
      updated_(plan.program.schedule.pipeline.stages.size(), 0) {
  if (has_verdict(plan.program)) validation_.emplace(plan, device, transport, sums_);
}

void StepEnd::begin_step(std::int64_t step, double learning_rate) {
  step_ = step;
  record_ = {.step = static_cast<std::int32_t>(step + 1),
             .gradient_norm = std::numeric_limits<double>::quiet_NaN(),
             .learning_rate = learning_rate};
  updated_.assign(updated_.size(), 0);
  if (validation_) validation_->begin_step(record_);
}

void StepEnd::exchange_norms() {
  exchange_losses();
  if (!device_.learns()) return;
  record_.gradient_norm = sums_.global_norm(record_.step);
  gradient_scale_ = clip_scale(record_.gradient_norm, plan_.train.optimizer.clip);
}

void StepEnd::update(std::int32_t stage) {
  if (validation_) {
    validation_->update(stage);
  } else {
    device_.update(stage, step_, record_.learning_rate, gradient_scale_);
  }
}

// AdamW counts the stage's updates; the learning rate follows the steps.
void StepEnd::update(const Op& op) {
  const std::int32_t number = updated_[static_cast<std::size_t>(op.stage)]++;
  device_.update(op.stage, step_ * inside_.count(op.stage) + number, record_.learning_rate,
                 inside_.gradient_scale(op.stage, number));
}

void StepEnd::exchange_losses() {
  sums_.exchange();
  record_.loss = std::numeric_limits<double>::quiet_NaN();
  if (!device_.learns()) return;
  std::vector<double> losses = sums_.mean_losses(record_.step);
  record_.loss = losses.back();
  const bool local = plan_.program.schedule.pipeline.learning.kind == LearningKind::Local;
  if (local) record_.window_losses = std::move(losses);
}

}  // namespace penstock
