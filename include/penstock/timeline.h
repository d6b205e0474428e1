// File: timeline.h. What ran when: the answer of the simulator and of the executor alike.
//
// One training step. Integer nanoseconds from the step's begin. Everything that a report shows
// (bubble, utilisation, memory, why an actor idled) is derived from this value: metrics.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/costs.h"
#include "penstock/op.h"
#include "penstock/program.h"

namespace penstock {

// Something an actor's compute lane did. Spans of one actor are in order of start and overlap only
// inside a pair. kind Compute: `op`; ReduceGradients, Update: op.stage names the stage; GlobalNorm,
// PartialNorm, Verdict: op.stage is -1. The rest of `op` is unused. A Verdict takes as long as
// rolling back does, none where the update was right.
struct Span {
  ActionKind kind = ActionKind::Compute;
  Op op;
  std::int32_t actor = 0;
  std::int32_t awaits = -1;  // index into Timeline::transfers: its input, if from another actor
  bool overlaps_previous = false;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  bool operator==(const Span&) const = default;
};

// A message on its way. ready <= start <= end: handed over by its producer at `ready`, on the
// channel from `start`, usable by the receiver at `end`.
struct Transfer {
  Op op;                          // the producer: its stage, microbatch, slice
  OpKind kind = OpKind::Forward;  // Forward: an activation; Backward: a gradient
  std::int32_t from = 0;          // actors
  std::int32_t to = 0;
  std::int64_t bytes = 0;
  Nanoseconds ready = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  bool operator==(const Transfer&) const = default;
};

struct TimelineStage {
  std::int32_t actor = 0;
  std::int32_t part = 0;
  std::int64_t activation_bytes = 0;  // per microbatch (all slices)
  std::int64_t kept_bytes = 0;        // of those, from F to R, where there is an R
  std::int64_t left_bytes = 0;        // of those, from I to W, where the backward is split
  std::int64_t weight_bytes = 0;
  std::int32_t route = 0;  // that it lies on: an actor's chunks are counted per route
  bool operator==(const TimelineStage&) const = default;
};

enum class TimelineSource : std::uint8_t { Predicted, Measured, Imported };

struct Timeline {
  std::string name;  // the schedule's
  TimelineSource source = TimelineSource::Predicted;
  std::int32_t actors = 0;
  std::int32_t microbatches = 0;
  std::vector<TimelineStage> stages;
  std::vector<std::int32_t> slices;  // of each microbatch; empty: one each
  std::vector<Span> spans;           // grouped by actor, in order of start
  std::vector<Transfer> transfers;
  std::int64_t tokens = 0;  // per step; 0: unknown
  // Where a step begins before the one before has ended (post-validation): from an actor's start to
  // its start in the next step. 0: a step begins when all of the one before has ended.
  Nanoseconds period = 0;
  bool operator==(const Timeline&) const = default;
};

}  // namespace penstock
