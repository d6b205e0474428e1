#include "prices.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "jitter.h"

namespace penstock {
namespace {

constexpr Nanoseconds kVaries = -1;
// Sums of durations stay below half the clock's range, so that no sum of two overflows.
constexpr double kLongestStep = 4e18;

// The duration of `kind` on a stage, kVaries, or 0 when the costs do not give it.
Nanoseconds base_of(const StageCosts& costs, OpKind kind) {
  if (kind == OpKind::Update) return costs.update;
  const auto& given = costs.op[static_cast<std::size_t>(kind)];
  if (given) return given->varied.empty() ? given->base : kVaries;
  if (kind != OpKind::Backward) return 0;
  const Nanoseconds input = base_of(costs, OpKind::BackwardInput);
  const Nanoseconds weight = base_of(costs, OpKind::BackwardWeight);
  return input == kVaries || weight == kVaries ? kVaries : input + weight;
}

// 0 for a slice that the microbatch has not.
std::int64_t bytes_of(const MessageCost& message, std::int32_t microbatch, std::int32_t slice) {
  if (message.varied.empty()) return message.bytes;
  const auto row = static_cast<std::size_t>(message.microbatch_varies ? microbatch : 0);
  if (static_cast<std::size_t>(slice) >= message.varied[row].size()) return 0;
  return message.bytes_of(microbatch, slice);
}

// By stage: how many gradients a message from the stage behind holds.
std::vector<std::int32_t> gradients_behind(const Pipeline& pipeline) {
  std::vector<std::int32_t> gradients(pipeline.stages.size(), 0);
  for (const Route& route : pipeline.routes) {
    const auto length = static_cast<std::int32_t>(route.size());
    for (std::int32_t i = 0; i + 1 < length; ++i) {
      gradients[static_cast<std::size_t>(route[static_cast<std::size_t>(i)])] =
          windows_with(pipeline.learning, length, i, i + 1);
    }
  }
  return gradients;
}

// Nanoseconds at most that a message takes from all others on the slowest of the links.
double on_links(const CostTable& costs, std::int64_t bytes) {
  double longest = 0;
  for (const SharedLink& link : costs.links) {
    longest = std::max(longest, 1e9 * static_cast<double>(bytes) / link.bytes_per_s);
  }
  return longest;
}

// The longest that any op of the stage takes.
Nanoseconds longest_of(const StageCosts& costs) {
  Nanoseconds longest = 0;
  for (const auto& given : costs.op) {
    if (!given) continue;
    longest = std::max(longest, given->base);
    for (const auto& row : given->varied) {
      for (const Nanoseconds time : row) longest = std::max(longest, time);
    }
  }
  return std::max(2 * longest, costs.update);  // B left out is I + W
}

}  // namespace

Prices::Prices(const Program& program, const CostTable& costs, const SimulateOptions& options)
    : program_(&program),
      costs_(&costs),
      options_(&options),
      scaled_(options.jitter != 0 || !options.slow_down.empty()) {
  check_options(options, program.schedule.pipeline.actors);
  base_.reserve(costs.stages.size() * kOpKinds);
  tell_apart_messages();
  behind_.reserve(2 * costs.stages.size() * static_cast<std::size_t>(messages_));
  for (const StageCosts& stage : costs.stages) {
    for (int kind = 0; kind < kOpKinds; ++kind) {
      base_.push_back(base_of(stage, static_cast<OpKind>(kind)));
    }
    note_latency_ = std::max(note_latency_, stage.message.latency);
  }
  for (const StageCosts& stage : costs.stages) add_boundary(stage.message, 1);
  first_gradient_ = static_cast<std::int32_t>(behind_.size());
  const std::vector<std::int32_t> gradients = gradients_behind(program.schedule.pipeline);
  for (std::size_t stage = 0; stage < gradients.size(); ++stage) {
    add_boundary(costs.stages[stage].message, gradients[stage]);
  }
  for (const std::int32_t stage : previous_on_route(program.schedule.pipeline)) {
    for (std::int32_t message = 0; message < messages_; ++message) {
      before_.push_back(stage < 0 ? MessagePrice{} : of_boundary(stage * messages_ + message));
    }
  }
  check_range();
}

void Prices::tell_apart_messages() {
  std::size_t slices = 1;
  bool by_microbatch = false;
  for (const StageCosts& stage : costs_->stages) {
    for (const auto& row : stage.message.varied) slices = std::max(slices, row.size());
    by_microbatch |= stage.message.microbatch_varies;
  }
  messages_ = static_cast<std::int32_t>(slices);
  slice_step_ = slices == 1 ? 0 : 1;
  if (!by_microbatch) return;
  microbatch_step_ = messages_;
  messages_ *= static_cast<std::int32_t>(program_->schedule.pipeline.microbatches.size());
}

void Prices::add_boundary(const MessageCost& message, std::int32_t tensors) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (std::int32_t i = 0; i < messages_; ++i) {
    const std::int32_t microbatch = microbatch_step_ == 0 ? 0 : i / microbatch_step_;
    const std::int32_t slice = microbatch_step_ == 0 ? i : i % microbatch_step_;
    const std::int64_t bytes =
        tensors * std::min(bytes_of(message, microbatch, slice), kMost / std::max(1, tensors));
    behind_.push_back(
        {.occupancy = message.occupancy(bytes), .latency = message.latency, .bytes = bytes});
    limits_bandwidth_ |= behind_.back().occupancy > 0;
  }
}

void Prices::check_options(const SimulateOptions& options, std::int32_t actors) const {
  if (!(options.jitter >= 0 && options.jitter <= kMostJitter)) {
    throw Error("jitter", fmt::format("{} is out of range", options.jitter),
                fmt::format("allowed: 0 to {}", kMostJitter));
  }
  if (options.slow_down.empty()) return;
  if (options.slow_down.size() != static_cast<std::size_t>(actors)) {
    throw Error("slow_down", fmt::format("{} factors are given, the schedule has {} actors",
                                         options.slow_down.size(), actors));
  }
  for (const double factor : options.slow_down) {
    if (factor > 0 && factor <= kMostSlowDown) continue;
    throw Error("slow_down", fmt::format("{} is out of range", factor),
                fmt::format("allowed: above 0, to {}", kMostSlowDown));
  }
}

void Prices::check_range() const {
  Nanoseconds longest_op = costs_->overlap_fb.value_or(0);
  double longest_message = 0;
  double step_end = static_cast<double>(costs_->global_norm);
  for (const StageCosts& stage : costs_->stages) {
    longest_op = std::max(longest_op, longest_of(stage));
    step_end += static_cast<double>(stage.update) + static_cast<double>(stage.reduce);
  }
  for (const MessagePrice& price : behind_) {
    const double alone = static_cast<double>(price.occupancy + price.latency);
    longest_message = std::max(longest_message, alone + on_links(*costs_, price.bytes));
  }
  double factor = 1 + options_->jitter;
  for (const double slow_down : options_->slow_down) {
    factor = std::max(factor, slow_down * (1 + options_->jitter));
  }
  const double step =
      factor * static_cast<double>(longest_op) * static_cast<double>(program_->computes.size()) +
      longest_message * static_cast<double>(program_->messages.size()) + step_end;
  if (step < kLongestStep) return;
  throw Error("costs", fmt::format("one step could take {:.0e} s", step * 1e-9),
              "times are in milliseconds");
}

double Prices::slow_down(std::int32_t actor) const {
  return options_->slow_down.empty() ? 1 : options_->slow_down[static_cast<std::size_t>(actor)];
}

Nanoseconds Prices::scaled(const Op& op, std::int32_t actor, Nanoseconds duration) const {
  if (!scaled_) return duration;
  const double factor = slow_down(actor) * (1 + options_->jitter * jitter_of(options_->seed, op));
  return std::llround(static_cast<double>(duration) * factor);
}

Nanoseconds Prices::of_step_end(const Action& action) const {
  switch (action.kind) {
    case ActionKind::ReduceGradients:
      return of_reduction(action.index);
    case ActionKind::GlobalNorm:
    case ActionKind::PartialNorm:
      return costs_->global_norm;
    case ActionKind::Update:
      return of_update(action.index);
    default:
      assert(false && "only the step's end is asked for");
      return 0;
  }
}

Nanoseconds Prices::of_update(std::int32_t stage) const {
  const double factor =
      slow_down(program_->schedule.pipeline.stages[static_cast<std::size_t>(stage)].actor);
  return std::llround(static_cast<double>(costs_->stages[static_cast<std::size_t>(stage)].update) *
                      factor);
}

Nanoseconds Prices::of_reduction(std::int32_t group) const {
  Nanoseconds longest = 0;
  for (const std::int32_t stage : program_->shared[static_cast<std::size_t>(group)]) {
    longest = std::max(longest, costs_->stages[static_cast<std::size_t>(stage)].reduce);
  }
  return longest;
}

}  // namespace penstock
