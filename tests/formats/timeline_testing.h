// File: timeline_testing.h. Timelines for tests of drawings: ops at given costs, messages for free.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "penstock/program.h"
#include "penstock/timeline.h"

namespace penstock {

// Each op starts when its actor and its input are there.
inline Timeline timeline_of(const Program& program,
                            const std::function<Nanoseconds(const Op&)>& duration) {
  const Pipeline& pipeline = program.schedule.pipeline;
  Timeline timeline;
  timeline.name = program.schedule.name;
  timeline.actors = pipeline.actors;
  timeline.microbatches = static_cast<std::int32_t>(pipeline.microbatches.size());
  for (const Stage& stage : pipeline.stages) {
    timeline.stages.push_back({.actor = stage.actor, .part = stage.part});
  }
  for (std::size_t route = 0; route < pipeline.routes.size(); ++route) {
    for (const std::int32_t stage : pipeline.routes[route]) {
      timeline.stages[static_cast<std::size_t>(stage)].route = static_cast<std::int32_t>(route);
    }
  }
  std::vector<std::vector<Span>> lanes(static_cast<std::size_t>(timeline.actors));
  std::vector<std::pair<std::size_t, std::size_t>> span_of;  // lane, position, by compute
  for (const Compute& compute : program.computes) {
    const auto lane = static_cast<std::size_t>(compute.actor);
    std::vector<Span>& spans = lanes[lane];
    Span span;
    span.op = compute.op;
    span.actor = compute.actor;
    span.overlaps_previous = compute.overlaps_previous;
    const bool pairs = compute.overlaps_previous;
    if (!spans.empty()) span.start = pairs ? spans.back().start : spans.back().end;
    if (compute.awaits >= 0) {
      const auto [from, at] = span_of[static_cast<std::size_t>(
          program.messages[static_cast<std::size_t>(compute.awaits)].producer)];
      span.start = std::max(span.start, lanes[from][at].end);
    }
    span.end = span.start + duration(compute.op);
    if (pairs) {  // both start when both have their inputs, and end together
      span.end += spans.back().end - spans.back().start;
      spans.back().start = span.start;
      spans.back().end = span.end;
    }
    span_of.emplace_back(lane, spans.size());
    spans.push_back(span);
  }
  for (const std::vector<Span>& spans : lanes) {
    timeline.spans.insert(timeline.spans.end(), spans.begin(), spans.end());
  }
  return timeline;
}

// F=1, B=2, I=1, W=1 in milliseconds.
inline Nanoseconds unit_cost(const Op& op) {
  return (op.kind == OpKind::Backward ? 2 : 1) * Nanoseconds{1'000'000};
}

}  // namespace penstock
