#include "step_runner.h"

#include <algorithm>
#include <utility>

#include "clock.h"
#include "gather.h"
#include "optimizer/learning_rate.h"
#include "profile.h"
#include "rooms.h"
#include "shared_gradients.h"

namespace penstock {
namespace {

BoundaryFloats boundaries(const Device& device) {
  return [&device](const Op& op) { return device.boundary_floats(op); };
}

// Every actor works out everybody's plan, so that all announce the same channels.
std::vector<Channel> step_channels(const RunPlan& plan, const Device& device,
                                   std::span<const MessagePlan> messages) {
  const BoundaryFloats floats = boundaries(device);
  std::vector<ActorPlan> plans;
  for (std::int32_t a = 0; a < plan.program.schedule.pipeline.actors; ++a) {
    plans.push_back(plan_actor(plan.program, a, floats));
  }
  std::vector<Channel> channels = plan_channels(plan.program, plans, messages);
  for (const auto& more : {shared_channels(plan.program), room_channels(plan.program)}) {
    channels.insert(channels.end(), more.begin(), more.end());
  }
  return channels;
}

}  // namespace

StepRunner::StepRunner(const RunPlan& plan, const RunOptions& options,
                       std::vector<StageInfo> stages, Device& device, Transport& transport)
    : plan_(plan),
      device_(device),
      transport_(transport),
      stages_(std::move(stages)),
      messages_(plan_messages(plan.program, boundaries(device))),
      actor_plan_(plan_actor(plan.program, transport.actor(), boundaries(device))),
      interpreter_(plan.program, actor_plan_, messages_, device, transport),
      step_end_(plan, device, transport),
      exchanges_norms_(exchanges_norms(plan.program)) {
  std::vector<Channel> channels = step_channels(plan, device, messages_);
  if (options.profile_steps > 0) probes_ = probe_channels(channels);
  channels.insert(channels.end(), probes_.begin(), probes_.end());
  if (const PostValidation* validation = step_end_.validation()) {
    const std::vector<Channel> more = validation->channels();
    channels.insert(channels.end(), more.begin(), more.end());
  }
  transport.open(channels, action_names(plan.program));
}

Nanoseconds StepRunner::agree_on_begin() {
  constexpr Nanoseconds kMargin = 100'000;  // to be back from the exchange and asleep
  const std::vector<Nanoseconds> clocks = gather_one(transport_, now());
  const Nanoseconds latest = *std::max_element(clocks.begin(), clocks.end());
  return latest + (transport_.crowded() ? 4 * kMargin : kMargin);
}

void StepRunner::begin_together(MeasuredStep& measured) {
  measured.begin = agree_on_begin();
  // Spinning would take a core from an actor that already works.
  wait_until(measured.begin, transport_.crowded() ? 0 : 50'000);
}

std::optional<StepRecord> StepRunner::run(std::int64_t step, MeasuredStep& measured) {
  return run(step, learning_rate(plan_.train.optimizer, step, plan_.train.steps), measured);
}

std::optional<StepRecord> StepRunner::run(std::int64_t step, double learning_rate,
                                          MeasuredStep& measured) {
  measured.marks.resize(actor_plan_.tasks.size());
  device_.begin_step(step);
  step_end_.begin_step(step, learning_rate);
  PostValidation* const validation = step_end_.validation();
  if (validation != nullptr && validation->is_open()) {
    measured.begin = now();
    interpreter_.run(executed_++, step_end_, measured.marks);
    return settled(std::exchange(begin_, measured.begin), measured.begin);
  }
  if (validation == nullptr) device_.clear_gradients();
  begin_together(measured);
  begin_ = measured.begin;
  interpreter_.run(executed_++, step_end_, measured.marks);
  if (validation != nullptr) return std::nullopt;
  Nanoseconds last = measured.begin;
  for (const Mark& mark : measured.marks) last = std::max(last, mark.end);
  const std::vector<Nanoseconds> ends = gather_one(transport_, last);
  if (!exchanges_norms_) step_end_.exchange_losses();
  StepRecord record = step_end_.record();
  record.seconds = to_s(*std::max_element(ends.begin(), ends.end()) - measured.begin);
  return record;
}

std::optional<StepRecord> StepRunner::finish() {
  PostValidation* const validation = step_end_.validation();
  if (validation == nullptr || !validation->is_open()) return std::nullopt;
  validation->await_verdict();
  validation->settle();
  interpreter_.finish_sends();
  validation->finish_sends();
  return settled(begin_, now());
}

std::optional<StepRecord> StepRunner::settled(Nanoseconds begin, Nanoseconds end) {
  std::optional<StepRecord> record = step_end_.validation()->take_record();
  record->seconds = to_s(end - begin);
  return record;
}

}  // namespace penstock
