// File: depend.h. What waits for what: the one place that knows.
//
//   F(s,m,k)  the activation of the stage before, and F(s,m,k-1) (later tokens attend to earlier)
//   B,I(s,m,k) its own F, the gradient of the stage behind, and the gradient of (s,m,k+1)
//   W(s,m,k)  its I
//   R(s,m,k)  its F; check() wants it in front of its B or I
//   U(s,m)    the W or B of every slice of (s,m)
//
// With local learning a gradient goes from a stage to the one before only inside a window. Where
// windows overlap so that what a stage sends back does not build on what it gets (no window holds
// the stage before, it and the one behind), W takes the gradient of the stage behind instead of I.
//
// With bounded queues F(s,i) also ends only after F(next,i-capacity) has started: room_for().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "penstock/index.h"
#include "penstock/schedule.h"

namespace penstock {

// The dependencies of one pipeline, with dense numbers for its units of work and their results.
// Immutable, a few words per stage and microbatch.
class Dependencies {
 public:
  // REQUIRES: every stage is on exactly one route, every microbatch names a route, and there are at
  // most kMostUnits units.
  explicit Dependencies(const Pipeline& pipeline);

  static constexpr std::int64_t kMostUnits = 100'000'000;

  // A unit is a (stage, microbatch, slice) that the routes ask for: 0 .. units() - 1.
  // REQUIRES, here and below: the op is one of the pipeline's.
  std::int32_t units() const { return units_; }
  std::int32_t unit(const Op& op) const {
    return stage_base_[index(op.stage)] + microbatch_base_[index(op.microbatch)] + op.slice;
  }

  // Each unit has two results that others wait for: its activation (of F) and its gradient (of B or
  // I): 0 .. results() - 1. W, R and U give nothing that another stage waits for: -1.
  std::int32_t results() const { return 2 * units_; }
  std::int32_t result(const Op& op) const {
    if (op.kind == OpKind::Forward) return 2 * unit(op);
    return gives_input_gradient(op.kind) ? 2 * unit(op) + 1 : -1;
  }

  // Calls visit(input) for each op that `op` waits for; kind Backward stands for "B or I, whichever
  // the schedule runs". What a U waits for, "W or B" as kind BackwardWeight, has no result(): it is
  // its own stage's, so that its actor's order tells. The rule itself.
  template <typename Visit>
  void visit_inputs(const Op& op, Visit visit) const {
    const bool forward = op.kind == OpKind::Forward;
    if (op.kind == OpKind::Update) return visit_gradients(op, visit);
    if (op.kind == OpKind::BackwardWeight) {
      visit(Op{OpKind::Backward, op.stage, op.microbatch, op.slice});
    } else if (!forward) {
      visit(Op{OpKind::Forward, op.stage, op.microbatch, op.slice});
    }
    if (op.kind == OpKind::Recompute) return;
    const OpKind kind = forward ? OpKind::Forward : OpKind::Backward;
    const std::int32_t from = giver(op);
    if (from >= 0) visit(Op{kind, from, op.microbatch, op.slice});
    if (op.kind == OpKind::BackwardWeight) return;
    const std::int32_t slice = forward ? op.slice - 1 : op.slice + 1;
    if (slice >= 0 && slice < slices_[index(op.microbatch)]) {
      visit(Op{kind, op.stage, op.microbatch, slice});
    }
  }

  std::vector<Op> inputs(const Op& op) const {
    std::vector<Op> inputs;
    visit_inputs(op, [&](const Op& input) { inputs.push_back(input); });
    return inputs;
  }

  // The stage whose result the op takes over a boundary: the previous one for F, the next for one
  // of B, I and W; -1 when there is none.
  std::int32_t giver(const Op& op) const { return giver_[index(op.stage)][index(op.kind)]; }

  // The stage that takes the op's result to another stage: the next for F, the previous for B and
  // I; -1 when nobody does.
  std::int32_t receiver(const Op& op) const { return receiver_[index(op.stage)][index(op.kind)]; }

  // Whether any result has to wait for room in a queue.
  bool has_queues() const { return capacity_ > 0; }

  // The forward that has to have started before the result of forward `op` has room in the queue
  // to the next stage; nothing where there is room in any case.
  std::optional<Op> room_for(const Op& op) const;

 private:
  using ByKind = std::array<std::int32_t, kOpKinds>;

  // What passes the stages of a route one by one.
  struct Item {
    std::int32_t microbatch;
    std::int32_t slice;
  };

  template <typename Visit>
  void visit_gradients(const Op& op, Visit visit) const {
    for (std::int32_t slice = 0; slice < slices_[index(op.microbatch)]; ++slice) {
      visit(Op{OpKind::BackwardWeight, op.stage, op.microbatch, slice});
    }
  }

  void link(const Learning& learning, const Route& route);
  void list_items(const Pipeline& pipeline);

  std::vector<ByKind> giver_;     // by stage
  std::vector<ByKind> receiver_;  // by stage
  std::vector<std::int32_t> stage_base_;
  std::vector<std::int32_t> microbatch_base_;  // counts slices within the microbatch's route
  std::vector<std::int32_t> slices_;           // by microbatch
  std::int32_t units_ = 0;
  std::int32_t capacity_ = 0;             // of the queues between stages; 0: any
  std::vector<std::vector<Item>> items_;  // with queues, by route: in the order of their units
  std::vector<std::int32_t> route_of_;    // with queues, by microbatch
};

// The number of units, which may be more than a Dependencies can number.
// REQUIRES: routes and microbatches name what exists.
std::int64_t count_units(const Pipeline& pipeline);

}  // namespace penstock
