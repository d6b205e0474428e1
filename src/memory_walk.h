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
};

// How much one op opens or closes.
class Activations {
 public:
  explicit Activations(const Timeline& timeline);

  std::int64_t units_per_microbatch() const { return units_; }
  Held of(const Op& op) const {
    if (slices_.empty()) return whole_[static_cast<std::size_t>(op.stage)];
    return slice_of(op);
  }

 private:
  Held slice_of(const Op& op) const;

  std::int64_t units_ = 1;
  std::vector<Held> whole_;  // by stage
  std::vector<std::int32_t> slices_;
};

inline constexpr int kOpens = 1;
inline constexpr int kCloses = -1;

// Calls visit(Nanoseconds at, const Held& held) after every change of the actor whose spans are
// `lane`: an activation opens at the start of F and closes at the end of B or W. What opens and
// closes inside a pair counts together.
template <class Visit>
void walk_memory(const Timeline& timeline, const Activations& activations, SpanRange lane,
                 Held held, Visit visit) {
  const auto change = [&](const Op& op, int sign, Nanoseconds at) {
    const Held by = activations.of(op);
    held.bytes += sign * by.bytes;
    held.units += sign * by.units;
    visit(at, held);
  };
  for (std::int32_t first = lane.first; first < lane.last;) {
    const std::int32_t last = end_of_pair(timeline, first, lane.last);
    for (std::int32_t i = first; i < last; ++i) {
      const Span& span = timeline.spans[static_cast<std::size_t>(i)];
      if (span.kind != ActionKind::Compute || span.op.kind != OpKind::Forward) continue;
      change(span.op, kOpens, span.start);
    }
    for (; first < last; ++first) {
      const Span& span = timeline.spans[static_cast<std::size_t>(first)];
      if (span.kind != ActionKind::Compute || !gives_weight_gradient(span.op.kind)) continue;
      change(span.op, kCloses, span.end);
    }
  }
}

// What the actors hold before their first op: weights. By actor.
std::vector<Held> held_at_rest(const Timeline& timeline);

}  // namespace penstock
