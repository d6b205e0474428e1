#include "penstock/metrics.h"

#include <algorithm>
#include <limits>

#include "idle_walk.h"
#include "lanes.h"
#include "memory_walk.h"
#include "penstock/index.h"
#include "weight_versions.h"

namespace penstock {
namespace {

// The time in which at least one op or update runs: a pair counts once.
Nanoseconds busy_time(const Timeline& timeline, SpanRange lane) {
  Nanoseconds busy = 0;
  Nanoseconds covered = std::numeric_limits<Nanoseconds>::min();
  for (std::int32_t i = lane.first; i < lane.last; ++i) {
    const Span& span = timeline.spans[index(i)];
    if (!is_work(span.kind) || span.end <= covered) continue;
    busy += span.end - std::max(span.start, covered);
    covered = span.end;
  }
  return busy;
}

// From the first start to the last end of one actor.
Nanoseconds actor_span(const Timeline& timeline, SpanRange lane) {
  if (lane.first == lane.last) return 0;
  Nanoseconds end = 0;
  for (std::int32_t i = lane.first; i < lane.last; ++i) {
    end = std::max(end, timeline.spans[index(i)].end);
  }
  return end - timeline.spans[index(lane.first)].start;
}

void measure_memory(const Timeline& timeline, const std::vector<SpanRange>& lanes,
                    std::vector<ActorMetrics>& actors) {
  const Activations activations(timeline);
  const std::vector<Held> rest = held_at_rest(timeline);
  for (std::size_t actor = 0; actor < lanes.size(); ++actor) {
    Held peak = rest[actor];
    walk_memory(timeline, activations, lanes[actor], rest[actor],
                [&](Nanoseconds, const Held& held) {
                  peak.bytes = std::max(peak.bytes, held.bytes);
                  peak.units = std::max(peak.units, held.units);
                });
    actors[actor].peak_bytes = peak.bytes;
    actors[actor].peak_in_flight =
        static_cast<double>(peak.units) / static_cast<double>(activations.units_per_microbatch());
  }
}

Nanoseconds recompute_time(const Timeline& timeline, SpanRange lane) {
  Nanoseconds time = 0;
  for (std::int32_t i = lane.first; i < lane.last; ++i) {
    const Span& span = timeline.spans[index(i)];
    const bool again = span.kind == ActionKind::Compute && span.op.kind == OpKind::Recompute;
    if (again) time += span.end - span.start;
  }
  return time;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

Metrics measure(const Timeline& timeline) {
  const std::vector<SpanRange> lanes = lanes_of(timeline);
  const Window window = window_of(timeline);
  Metrics metrics;
  metrics.makespan = timeline.period > 0 ? timeline.period : window.end - window.begin;
  metrics.actors.resize(lanes.size());
  const auto makespan = static_cast<double>(metrics.makespan);
  double busy = 0;  // mean over the actors
  double longest = 0;
  for (std::size_t actor = 0; actor < lanes.size(); ++actor) {
    ActorMetrics& one = metrics.actors[actor];
    one.busy = busy_time(timeline, lanes[actor]);
    one.recompute = recompute_time(timeline, lanes[actor]);
    one.weight_versions = most_weight_versions(timeline, lanes[actor]);
    one.utilization = ratio(static_cast<double>(one.busy), makespan);
    busy += static_cast<double>(one.busy) / static_cast<double>(lanes.size());
    longest = std::max(longest, static_cast<double>(actor_span(timeline, lanes[actor])));
  }
  IdleWalk(timeline, [&](const Idle& idle) {
    metrics.actors[index(idle.actor)].idle[static_cast<std::size_t>(idle.cause)] +=
        idle.end - idle.start;
  }).run();
  measure_memory(timeline, lanes, metrics.actors);
  metrics.utilization = ratio(busy, makespan);
  metrics.bubble_ratio = ratio(makespan - busy, makespan);
  metrics.bubble_ratio_span = ratio(longest - busy, longest);
  metrics.bubble_over_ideal = busy > 0 ? (makespan - busy) / busy : 0;
  if (timeline.tokens > 0 && makespan > 0) {
    metrics.tokens_per_s = static_cast<double>(timeline.tokens) / (makespan * 1e-9);
  }
  return metrics;
}

}  // namespace penstock
