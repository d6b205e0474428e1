#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "memory_walk.h"
#include "penstock/metrics.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostUnits = 1'000'000'000;

// How many chunks of `stage`'s actor a microbatch of its route passes, by stage.
std::vector<std::int64_t> chunks_of(const std::vector<TimelineStage>& stages) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> chunks;  // by actor and route
  for (const TimelineStage& stage : stages) ++chunks[{stage.actor, stage.route}];
  std::vector<std::int64_t> by_stage;
  for (const TimelineStage& stage : stages) by_stage.push_back(chunks[{stage.actor, stage.route}]);
  return by_stage;
}

// So many that every chunk of every slice is a whole number of them, if that is below kMostUnits.
std::int64_t units_for(const std::vector<std::int64_t>& chunks,
                       const std::vector<std::int32_t>& slices) {
  std::int64_t units = 1;
  for (const std::int64_t count : chunks) units = std::min(std::lcm(units, count), kMostUnits);
  std::int64_t per_slice = 1;
  for (const std::int32_t count : slices) {
    per_slice = std::min(std::lcm(per_slice, std::int64_t{count}), kMostUnits);
  }
  return std::min(units * per_slice, kMostUnits);
}

}  // namespace

Activations::Activations(const Timeline& timeline) : slices_(timeline.slices) {
  const std::vector<std::int64_t> chunks = chunks_of(timeline.stages);
  forward_only_ = std::none_of(timeline.spans.begin(), timeline.spans.end(), [](const Span& span) {
    return span.kind == ActionKind::Compute && span.op.kind != OpKind::Forward;
  });
  units_ = units_for(chunks, slices_);
  for (std::size_t stage = 0; stage < chunks.size(); ++stage) {
    whole_.push_back({timeline.stages[stage].activation_bytes, units_ / chunks[stage]});
    kept_.push_back(timeline.stages[stage].kept_bytes);
    left_.push_back(timeline.stages[stage].left_bytes);
  }
  for (const Span& span : timeline.spans) {
    const bool again = span.kind == ActionKind::Compute && span.op.kind == OpKind::Recompute;
    if (again) recomputed_.push_back(span.op);
  }
  std::sort(recomputed_.begin(), recomputed_.end());
}

// The bytes of a microbatch's slices add up to those of the microbatch.
Held Activations::slice_of(const Op& op, const Held& whole) const {
  const std::int64_t slices = slices_[static_cast<std::size_t>(op.microbatch)];
  const auto share = [&](std::int64_t total) {
    const std::int64_t rest = op.slice < total % slices ? 1 : 0;
    return total / slices + rest;
  };
  return {share(whole.bytes), share(whole.units)};
}

std::vector<Held> held_at_rest(const Timeline& timeline) {
  std::vector<Held> held(static_cast<std::size_t>(timeline.actors));
  for (const TimelineStage& stage : timeline.stages) {
    held[static_cast<std::size_t>(stage.actor)].bytes += stage.weight_bytes;
  }
  return held;
}

std::vector<std::vector<MemorySample>> memory(const Timeline& timeline) {
  const Activations activations(timeline);
  const std::vector<SpanRange> lanes = lanes_of(timeline);
  const std::vector<Held> rest = held_at_rest(timeline);
  const auto units = static_cast<double>(activations.units_per_microbatch());
  const Nanoseconds begin = window_of(timeline).begin;
  std::vector<std::vector<MemorySample>> samples(lanes.size());
  for (std::size_t actor = 0; actor < lanes.size(); ++actor) {
    std::vector<MemorySample>& list = samples[actor];
    list.push_back({.at = begin, .bytes = rest[actor].bytes});
    walk_memory(timeline, activations, lanes[actor], rest[actor],
                [&](Nanoseconds at, const Held& held) {
                  if (list.back().at != at) list.emplace_back();
                  list.back() = {at, held.bytes, static_cast<double>(held.units) / units};
                });
  }
  return samples;
}

}  // namespace penstock
