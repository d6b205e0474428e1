// File: memory_walk.h. Goes through the changes of an actor's memory without storing them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lanes.h"
#include "penstock/timeline.h"

namespace penstock {

// What one actor holds at one time. In flight counts in integer units, so that opening and closing
// cancel exactly: one microbatch is `units_per_microbatch` of them.
struct Held {
  std::int64_t bytes = 0;
  std::int64_t units = 0;
  bool operator==(const Held&) const = default;
};

// How much one op opens or closes.
class Activations {
 public:
  explicit Activations(const Timeline& timeline);

  std::int64_t units_per_microbatch() const { return units_; }
  // What the unit of `op` holds from its F to its B or W. From F to R, where it is computed again,
  // it holds fewer bytes: kept().
  Held of(const Op& op) const {
    if (slices_.empty()) return whole_[static_cast<std::size_t>(op.stage)];
    return slice_of(op, whole_[static_cast<std::size_t>(op.stage)]);
  }
  Held kept(const Op& op) const { return {share_of(op, kept_), of(op).units}; }
  // What the end of `op` frees: at B all that its unit holds; where it is split, at I what W does
  // not need, and at W the rest; at F where nothing is learnt.
  Held freed_by(const Op& op) const {
    if (op.kind == OpKind::BackwardInput) return {.bytes = of(op).bytes - share_of(op, left_)};
    if (op.kind == OpKind::BackwardWeight) return {share_of(op, left_), of(op).units};
    const bool ends = op.kind == OpKind::Backward || (forward_only_ && op.kind == OpKind::Forward);
    return ends ? of(op) : Held{};
  }
  bool is_recomputed(const Op& op) const {
    if (recomputed_.empty()) return false;
    const Op again{OpKind::Recompute, op.stage, op.microbatch, op.slice};
    return std::binary_search(recomputed_.begin(), recomputed_.end(), again);
  }

 private:
  Held slice_of(const Op& op, const Held& whole) const;
  std::int64_t share_of(const Op& op, const std::vector<std::int64_t>& bytes_by_stage) const {
    const std::int64_t bytes = bytes_by_stage[static_cast<std::size_t>(op.stage)];
    return slices_.empty() ? bytes : slice_of(op, {.bytes = bytes}).bytes;
  }

  std::int64_t units_ = 1;
  bool forward_only_ = false;
  std::vector<Held> whole_;         // by stage
  std::vector<std::int64_t> kept_;  // by stage: bytes
  std::vector<std::int64_t> left_;  // by stage: bytes
  std::vector<std::int32_t> slices_;
  std::vector<Op> recomputed_;  // the R of the timeline, sorted
};

inline constexpr int kOpens = 1;
inline constexpr int kCloses = -1;

// Calls visit(Nanoseconds at, const Held& held) after every change of the actor whose spans are
// `lane`: an activation opens at the start of F and closes at the end of B or W (of F, where
// nothing is learnt), in part at the end of I already. Where it is computed again it opens in two
// steps, at F and at R. What opens and closes inside a pair counts together.
template <class Visit>
void walk_memory(const Timeline& timeline, const Activations& activations, SpanRange lane,
                 Held held, Visit visit) {
  const auto change = [&](const Held& by, int sign, Nanoseconds at) {
    held.bytes += sign * by.bytes;
    held.units += sign * by.units;
    visit(at, held);
  };
  for (std::int32_t first = lane.first; first < lane.last;) {
    const std::int32_t last = end_of_pair(timeline, first, lane.last);
    for (std::int32_t i = first; i < last; ++i) {
      const Span& span = timeline.spans[static_cast<std::size_t>(i)];
      if (span.kind != ActionKind::Compute) continue;
      if (span.op.kind == OpKind::Forward) {
        const bool again = activations.is_recomputed(span.op);
        change(again ? activations.kept(span.op) : activations.of(span.op), kOpens, span.start);
      } else if (span.op.kind == OpKind::Recompute) {
        const Held all = activations.of(span.op);
        change({.bytes = all.bytes - activations.kept(span.op).bytes}, kOpens, span.start);
      }
    }
    for (; first < last; ++first) {
      const Span& span = timeline.spans[static_cast<std::size_t>(first)];
      if (span.kind != ActionKind::Compute) continue;
      const Held freed = activations.freed_by(span.op);
      if (freed != Held{}) change(freed, kCloses, span.end);
    }
  }
}

// What the actors hold before their first op: weights. By actor.
std::vector<Held> held_at_rest(const Timeline& timeline);

}  // namespace penstock
