#include "post_validation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "optimizer/learning_rate.h"

namespace penstock {
namespace {

constexpr OpKind kKind = OpKind::Update;  // no activation or gradient has it

}  // namespace

PostValidation::PostValidation(const RunPlan& plan, Device& device, Transport& transport,
                               StepSums& sums)
    : plan_(plan),
      device_(device),
      transport_(transport),
      sums_(sums),
      own_stages_(stages_of(plan.program.schedule.pipeline, transport.actor())) {
  assert(transport.actors() > 1 && "one actor has nobody to wait for");
}

std::vector<Channel> PostValidation::channels() const {
  std::vector<Channel> channels;
  const std::int32_t last = transport_.actors() - 1;
  for (std::int32_t actor = 0; actor < last; ++actor) {
    const auto norms = sums_.size_of_one() * (static_cast<std::size_t>(actor) + 1);
    channels.push_back({.from = actor,
                        .to = actor + 1,
                        .kind = kKind,
                        .bytes = static_cast<std::int64_t>(norms * sizeof(double)),
                        .pending = 1});
    channels.push_back(
        {.from = last, .to = actor, .kind = kKind, .bytes = sizeof(verdict_), .pending = 1});
  }
  return channels;
}

void PostValidation::partial_norm() {
  finish_sends();  // of the step before: received long ago
  sums_.measure();
  if (transport_.actor() == 0) judge();
}

void PostValidation::receive_norm() {
  const std::span<std::byte> norms = std::as_writable_bytes(sums_.of_first(transport_.actor()));
  const Ticket ticket = transport_.receive(transport_.actor() - 1, kKind, norms_,
                                           static_cast<std::int64_t>(norms.size()));
  transport_.wait(ticket);
  std::ranges::copy(transport_.data(ticket), norms.begin());
  transport_.release(ticket);
  if (is_last()) ++norms_;
  judge();
}

void PostValidation::send_norm() {
  const std::int32_t next = transport_.actor() + 1;
  sends_.push_back(transport_.send(next, kKind, norms_++, std::as_bytes(sums_.of_first(next))));
}

double PostValidation::scale_of(double norm) const {
  return device_.learns() ? clip_scale(norm, plan_.train.optimizer.clip) : 1;
}

// What the norms known here say of the update. The last actor knows all.
void PostValidation::judge() {
  open_ = Open{.record = record_};
  if (is_last()) {
    open_->record.loss = device_.learns() ? sums_.mean_losses(record_.step).back()
                                          : std::numeric_limits<double>::quiet_NaN();
    if (device_.learns()) open_->record.gradient_norm = sums_.global_norm(record_.step);
    return;
  }
  const double norm = sums_.partial_norm(transport_.actor() + 1);
  open_->is_made = std::isfinite(norm) && scale_of(norm) == 1;
}

void PostValidation::make(std::int32_t stage, const StepRecord& record, double scale) {
  device_.update(stage, record.step - 1, record.learning_rate, scale);
}

void PostValidation::update(std::int32_t stage) {
  if (is_last()) return make(stage, open_->record, scale_of(open_->record.gradient_norm));
  if (!open_->is_made) return;
  device_.keep(stage);
  make(stage, open_->record, 1);
}

// From the last actor to each, not from neighbour to neighbour as in the paper: an actor that is
// busy with its forwards would hold up those in front of it, where the pipeline passes it twice.
void PostValidation::await_verdict() {
  StepRecord& record = open_->record;
  if (is_last()) {
    verdict_ = {record.loss, record.gradient_norm};
    for (std::int32_t actor = 0; actor + 1 < transport_.actors(); ++actor) {
      sends_.push_back(
          transport_.send(actor, kKind, verdicts_, std::as_bytes(std::span(verdict_))));
    }
  } else {
    const Ticket ticket = transport_.receive(transport_.actors() - 1, kKind, verdicts_,
                                             static_cast<std::int64_t>(sizeof(verdict_)));
    transport_.wait(ticket);
    std::memcpy(verdict_.data(), transport_.data(ticket).data(), sizeof(verdict_));
    transport_.release(ticket);
    record.loss = verdict_[0];
    record.gradient_norm = verdict_[1];
  }
  ++verdicts_;
}

bool PostValidation::settle() {
  Open open = *std::exchange(open_, std::nullopt);
  const double scale = scale_of(open.record.gradient_norm);
  open.record.rolled_back = scale != 1;
  settled_ = open.record;
  if (!open.record.rolled_back) return true;
  for (const std::int32_t stage : own_stages_) {
    if (is_last()) break;  // it knew
    if (open.is_made) device_.roll_back(stage);
    make(stage, open.record, scale);
  }
  return false;
}

std::optional<StepRecord> PostValidation::take_record() {
  return std::exchange(settled_, std::nullopt);
}

void PostValidation::finish_sends() {
  for (const Ticket ticket : sends_) transport_.wait(ticket);
  sends_.clear();
}

}  // namespace penstock
