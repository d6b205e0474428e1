// File: lanes.h. The spans of one actor, and those that run together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/index.h"
#include "penstock/timeline.h"

namespace penstock {

// spans[first, last) of a timeline.
struct SpanRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

// By actor; an actor without spans has an empty range.
inline std::vector<SpanRange> lanes_of(const Timeline& timeline) {
  std::vector<SpanRange> lanes(index(timeline.actors));
  const auto size = static_cast<std::int32_t>(timeline.spans.size());
  for (std::int32_t first = 0; first < size;) {
    const std::int32_t actor = timeline.spans[index(first)].actor;
    std::int32_t last = first + 1;
    while (last < size && timeline.spans[index(last)].actor == actor) ++last;
    lanes[index(actor)] = {first, last};
    first = last;
  }
  return lanes;
}

// The end of the pair (or single span) that begins at `first`.
inline std::int32_t end_of_pair(const Timeline& timeline, std::int32_t first, std::int32_t last) {
  std::int32_t end = first + 1;
  while (end < last && timeline.spans[index(end)].overlaps_previous) ++end;
  return end;
}

// From the first start to the last end over all actors.
struct Window {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

inline Window window_of(const Timeline& timeline) {
  if (timeline.spans.empty()) return {};
  Window window{timeline.spans.front().start, timeline.spans.front().end};
  for (const Span& span : timeline.spans) {
    window.begin = std::min(window.begin, span.start);
    window.end = std::max(window.end, span.end);
  }
  return window;
}

}  // namespace penstock
