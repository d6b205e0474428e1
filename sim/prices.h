// File: prices.h. What each op and message of one program costs, resolved once so that the engines
// only index.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/costs.h"
#include "penstock/program.h"
#include "penstock/simulate.h"

namespace penstock {

struct MessagePrice {
  Nanoseconds occupancy = 0;  // of the channel
  Nanoseconds latency = 0;    // pure delay behind it
  std::int64_t bytes = 0;
};

// computes[first, end_of_together) start together.
inline std::int32_t end_of_together(const Program& program, std::int32_t first) {
  const auto size = static_cast<std::int32_t>(program.computes.size());
  std::int32_t end = first + 1;
  while (end < size && program.computes[static_cast<std::size_t>(end)].overlaps_previous) ++end;
  return end;
}

// Holds references: `program` and `costs` must outlive it. Throws Error when options or costs are
// out of range (a slow-down that is not positive, a step that could overflow the clock).
class Prices {
 public:
  Prices(const Program& program, const CostTable& costs, const SimulateOptions& options);

  // One op on its own.
  Nanoseconds of(const Compute& compute) const {
    const Nanoseconds base = base_[static_cast<std::size_t>(compute.op.stage) * kOpKinds +
                                   static_cast<std::size_t>(compute.op.kind)];
    if (base >= 0 && !scaled_) return base;
    return scaled(compute, base >= 0 ? base : costs_->duration(compute.op));
  }
  // Ops computes[first, last), which start together: one op or a pair.
  Nanoseconds of_together(std::int32_t first, std::int32_t last) const {
    return last - first == 1 ? of(computes_[first]) : of_pair(first, last);
  }

  const MessagePrice& of(const Message& message) const {
    // The boundary behind the producer's stage forward, behind the consumer's stage backward.
    const std::int32_t end = message.kind == OpKind::Forward ? message.producer : message.consumer;
    return messages_[static_cast<std::size_t>(computes_[end].op.stage)];
  }
  bool limits_bandwidth() const { return limits_bandwidth_; }

  // A ReduceGradients (the dearest stage of the group), GlobalNorm or Update.
  Nanoseconds of_step_end(const Action& action) const;

  const CostTable& costs() const { return *costs_; }

 private:
  Nanoseconds of_pair(std::int32_t first, std::int32_t last) const;
  Nanoseconds of_update(std::int32_t stage) const;
  Nanoseconds of_reduction(std::int32_t group) const;
  Nanoseconds scaled(const Compute& compute, Nanoseconds duration) const;
  double slow_down(std::int32_t actor) const;
  void check_options(const SimulateOptions& options, std::int32_t actors) const;
  void check_range() const;

  const Program* program_;
  const CostTable* costs_;
  const SimulateOptions* options_;
  const Compute* computes_;
  std::vector<Nanoseconds> base_;       // by (stage, kind); -1: varies with the microbatch or slice
  std::vector<MessagePrice> messages_;  // by stage: the boundary behind it
  bool scaled_ = false;                 // jitter or slow-downs apply
  bool limits_bandwidth_ = false;
};

}  // namespace penstock
