// File: depend.h. What waits for what: the one place that knows.
//
//   F(s,m,k)  the activation of the stage before, and F(s,m,k-1) (later tokens attend to earlier)
//   B,I(s,m,k) its own F, the gradient of the stage behind, and the gradient of (s,m,k+1)
//   W(s,m,k)  its I
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/schedule.h"

namespace penstock {

// Up to three ops, as Dependencies::visit_inputs gives them.
struct Inputs {
  std::array<Op, 3> ops;
  int count = 0;

  void add(const Op& op) { ops[static_cast<std::size_t>(count++)] = op; }
  const Op* begin() const { return ops.data(); }
  const Op* end() const { return ops.data() + count; }
};

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
  // I): 0 .. results() - 1. A W gives nothing that another op waits for: -1.
  std::int32_t results() const { return 2 * units_; }
  std::int32_t result(const Op& op) const {
    if (op.kind == OpKind::BackwardWeight) return -1;
    return 2 * unit(op) + (op.kind == OpKind::Forward ? 0 : 1);
  }

  // Calls visit(input) for each op that `op` waits for; kind Backward stands for "B or I, whichever
  // the schedule runs". The rule itself.
  template <typename Visit>
  void visit_inputs(const Op& op, Visit visit) const {
    if (op.kind == OpKind::BackwardWeight) {
      visit(Op{OpKind::Backward, op.stage, op.microbatch, op.slice});
      return;
    }
    const bool forward = op.kind == OpKind::Forward;
    if (!forward) visit(Op{OpKind::Forward, op.stage, op.microbatch, op.slice});
    const OpKind kind = forward ? OpKind::Forward : OpKind::Backward;
    const std::int32_t from = giver(op);
    if (from >= 0) visit(Op{kind, from, op.microbatch, op.slice});
    const std::int32_t slice = forward ? op.slice - 1 : op.slice + 1;
    if (slice >= 0 && slice < slices_[index(op.microbatch)]) {
      visit(Op{kind, op.stage, op.microbatch, slice});
    }
  }

  Inputs inputs(const Op& op) const {
    Inputs inputs;
    visit_inputs(op, [&](const Op& input) { inputs.add(input); });
    return inputs;
  }

  // The stage whose result the op takes over a boundary: the previous one for F, the next for B and
  // I; -1 when there is none.
  std::int32_t giver(const Op& op) const {
    if (op.kind == OpKind::Forward) return previous(op.stage);
    return gives_input_gradient(op.kind) ? next(op.stage) : -1;
  }

  // The stage that takes the op's result to another stage: the next for F, the previous for B and
  // I; -1 when nobody does.
  std::int32_t receiver(const Op& op) const {
    if (op.kind == OpKind::Forward) return next(op.stage);
    return gives_input_gradient(op.kind) ? previous(op.stage) : -1;
  }

  std::int32_t next(std::int32_t stage) const { return next_[index(stage)]; }
  std::int32_t previous(std::int32_t stage) const { return previous_[index(stage)]; }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  std::vector<std::int32_t> next_;      // by stage
  std::vector<std::int32_t> previous_;  // by stage
  std::vector<std::int32_t> stage_base_;
  std::vector<std::int32_t> microbatch_base_;  // counts slices within the microbatch's route
  std::vector<std::int32_t> slices_;           // by microbatch
  std::int32_t units_ = 0;
};

// The number of units, which may be more than a Dependencies can number.
// REQUIRES: routes and microbatches name what exists.
std::int64_t count_units(const Pipeline& pipeline);

}  // namespace penstock
