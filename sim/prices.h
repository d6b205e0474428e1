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

// The end of what starts together with `first`: one op, or a pair. `Entry` is a Compute or a Span.
template <class Entry>
const Entry* end_of_together(const Entry* first, const Entry* end) {
  const Entry* last = first + 1;
  while (last < end && last->overlaps_previous) ++last;
  return last;
}

// Holds references: `program` and `costs` must outlive it. Throws Error when options or costs are
// out of range (a slow-down that is not positive, a step that could overflow the clock).
class Prices {
 public:
  Prices(const Program& program, const CostTable& costs, const SimulateOptions& options);

  // How long entries [first, last), which start together, take: one op, or a pair.
  template <class Entry>
  Nanoseconds of_together(const Entry* first, const Entry* last) const {
    if (last - first == 1) return of(first->op, first->actor);
    if (costs_->overlap_fb) return scaled(first->op, first->actor, *costs_->overlap_fb);
    Nanoseconds sum = 0;
    for (; first < last; ++first) sum += of(first->op, first->actor);
    return sum;
  }

  // Numbers for the boundary behind `stage`, which the activation of the op's microbatch and slice
  // passes, or its gradient: one for each window that holds both stages; and what such a message
  // costs.
  std::int32_t boundary(std::int32_t stage, const Op& op, OpKind kind) const {
    const std::int32_t at =
        stage * messages_ + op.microbatch * microbatch_step_ + op.slice * slice_step_;
    return kind == OpKind::Forward ? at : at + first_gradient_;
  }
  const MessagePrice& of_boundary(std::int32_t boundary) const {
    return behind_[static_cast<std::size_t>(boundary)];
  }
  // The message that `op` awaits.
  const MessagePrice& of_input(const Op& op) const {
    const auto at = static_cast<std::size_t>(boundary(op.stage, op, op.kind));
    return op.kind == OpKind::Forward ? before_[at] : behind_[at];
  }
  bool limits_bandwidth() const { return limits_bandwidth_; }

  // A ReduceGradients (the dearest stage of the group), GlobalNorm, PartialNorm or Update.
  Nanoseconds of_step_end(const Action& action) const;

  // Of the few bytes that tell norms and verdicts: the longest of any boundary. They pass beside
  // what occupies the channels, in every p2p mode.
  Nanoseconds note_latency() const { return note_latency_; }

  const CostTable& costs() const { return *costs_; }

 private:
  Nanoseconds of(const Op& op, std::int32_t actor) const {
    const Nanoseconds base =
        base_[static_cast<std::size_t>(op.stage) * kOpKinds + static_cast<std::size_t>(op.kind)];
    if (base >= 0 && !scaled_) return base;
    return scaled(op, actor, base >= 0 ? base : costs_->duration(op));
  }
  Nanoseconds of_update(std::int32_t stage) const;
  Nanoseconds of_reduction(std::int32_t group) const;
  Nanoseconds scaled(const Op& op, std::int32_t actor, Nanoseconds duration) const;
  double slow_down(std::int32_t actor) const;
  void tell_apart_messages();
  void add_boundary(const MessageCost& message, std::int32_t tensors);
  void check_options(const SimulateOptions& options, std::int32_t actors) const;
  void check_range() const;

  const Program* program_;
  const CostTable* costs_;
  const SimulateOptions* options_;
  std::vector<Nanoseconds> base_;     // by (stage, kind); -1: varies with the microbatch or slice
  std::int32_t messages_ = 1;         // of a stage, told apart: 1 when all are alike
  std::int32_t microbatch_step_ = 0;  // from a microbatch's message to the next one's
  std::int32_t slice_step_ = 0;       // from a slice's to the next one's
  std::int32_t first_gradient_ = 0;   // boundary
  std::vector<MessagePrice> behind_;  // by boundary: to the next stage on the route, and back
  std::vector<MessagePrice> before_;  // and to the one before
  bool scaled_ = false;               // jitter or slow-downs apply
  bool limits_bandwidth_ = false;
  Nanoseconds note_latency_ = 0;
};

}  // namespace penstock
