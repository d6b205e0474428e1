// File: idle_walk.h. Goes through the idle stretches of a timeline without storing them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lanes.h"
#include "penstock/index.h"
#include "penstock/metrics.h"
#include "penstock/timeline.h"

namespace penstock {

// The input that the spans of a pair waited for longest: the latest of their transfers, or -1.
inline std::int32_t binding_transfer(const Timeline& timeline, std::int32_t first,
                                     std::int32_t last) {
  std::int32_t binding = -1;
  for (std::int32_t i = first; i < last; ++i) {
    const std::int32_t input = timeline.spans[index(i)].awaits;
    if (input < 0) continue;
    if (binding < 0 ||
        timeline.transfers[index(input)].end > timeline.transfers[index(binding)].end) {
      binding = input;
    }
  }
  return binding;
}

// Where a gap from `begin` to `end` that ends with `input` splits: until it was sent, until it was
// on its channel, until it arrived.
struct GapParts {
  Nanoseconds sent = 0;
  Nanoseconds started = 0;
  Nanoseconds arrived = 0;
};

inline GapParts parts_of_gap(const Transfer& input, Nanoseconds begin, Nanoseconds end) {
  GapParts parts;
  parts.sent = std::clamp(input.ready, begin, end);
  parts.started = std::clamp(input.start, parts.sent, end);
  parts.arrived = std::clamp(input.end, parts.started, end);
  return parts;
}

// Calls visit(const Idle&) for every stretch that is not empty, by actor, then time.
template <class Visit>
class IdleWalk {
 public:
  IdleWalk(const Timeline& timeline, Visit visit)
      : timeline_(timeline), visit_(visit), window_(window_of(timeline)) {
    for (const Span& span : timeline.spans) {
      if (span.kind == ActionKind::Compute) ops_end_ = std::max(ops_end_, span.end);
    }
  }

  void run() {
    const std::vector<SpanRange> lanes = lanes_of(timeline_);
    for (std::size_t actor = 0; actor < lanes.size(); ++actor) {
      now_ = {.actor = static_cast<std::int32_t>(actor)};
      walk(lanes[actor]);
    }
  }

 private:
  void walk(SpanRange lane) {
    const Window window = window_of_lane(lane);
    at_ = window.begin;
    last_op_ = lane.last;
    while (last_op_ > lane.first && !is_op(last_op_ - 1)) --last_op_;
    for (std::int32_t first = lane.first; first < lane.last;) {
      const std::int32_t last = end_of_pair(timeline_, first, lane.last);
      const Span& span = timeline_.spans[index(first)];
      now_.span = first;
      now_.transfer = binding_transfer(timeline_, first, last);
      gap_before(span, first == lane.first);
      if (!is_work(span.kind)) until(span.end, IdleCause::Collective);
      for (; first < last; ++first) {
        at_ = std::max(at_, timeline_.spans[index(first)].end);
      }
    }
    now_.span = -1;
    now_.transfer = -1;
    until(window.end, lane.first == lane.last ? IdleCause::WarmUp : IdleCause::Drain);
  }

  // Where steps overlap, each actor's step is from its own start to its next.
  Window window_of_lane(SpanRange lane) const {
    if (timeline_.period == 0) return window_;
    const Nanoseconds begin =
        lane.first == lane.last ? window_.begin : timeline_.spans[index(lane.first)].start;
    return {begin, begin + timeline_.period};
  }

  bool is_op(std::int32_t span) const {
    return timeline_.spans[index(span)].kind == ActionKind::Compute;
  }

  void gap_before(const Span& span, bool first_of_actor) {
    if (first_of_actor) return until(span.start, IdleCause::WarmUp);
    if (span.kind != ActionKind::Compute) {
      if (now_.span < last_op_) return until(span.start, IdleCause::Collective);
      until(std::min(span.start, ops_end_), IdleCause::Drain);
      return until(span.start, IdleCause::Collective);
    }
    if (now_.transfer >= 0 && span.start > at_) {
      const Transfer& input = timeline_.transfers[index(now_.transfer)];
      const GapParts parts = parts_of_gap(input, at_, span.start);
      until(parts.sent, IdleCause::Dependency);
      until(parts.started, IdleCause::Blocked);
      until(parts.arrived, IdleCause::P2p);
    }
    until(span.start, IdleCause::Blocked);
  }

  void until(Nanoseconds end, IdleCause cause) {
    if (end <= at_) return;
    now_.cause = cause;
    now_.start = at_;
    now_.end = end;
    at_ = end;
    visit_(now_);
  }

  const Timeline& timeline_;
  Visit visit_;
  Window window_;
  Nanoseconds ops_end_ = 0;   // of the last F, B, I or W of any actor
  std::int32_t last_op_ = 0;  // of the actor: behind its span
  Nanoseconds at_ = 0;        // everything of this actor before it is accounted for
  Idle now_;
};

}  // namespace penstock
