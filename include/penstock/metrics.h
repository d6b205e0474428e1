// File: metrics.h. The numbers of a Timeline, with their definitions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/timeline.h"

namespace penstock {

// Why a compute lane ran nothing. NOTE: names reach files, see name().
enum class IdleCause : std::uint8_t {
  WarmUp,      // before the actor's first op
  Drain,       // after its last, while others still run ops, or at the very end
  Dependency,  // until the producer of the awaited input ended
  P2p,         // until its message arrived
  Collective,  // in a reduction or norm exchange, or, when all ops are done, waiting for one
  Blocked,     // queued behind a lane: a busy channel, a rendezvous of another message
  Data,        // waiting for training data
  Padding,     // computing what is thrown away (SPMD pipelines)
};
inline constexpr int kIdleCauses = 8;
std::string_view name(IdleCause cause);  // "warmup", "drain", .., "padding": JSON key + "_s"

// A stretch of idle time of one actor with one cause.
struct Idle {
  std::int32_t actor = 0;
  IdleCause cause = IdleCause::WarmUp;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::int32_t span = -1;      // the span that was waiting (index), -1: none (drain)
  std::int32_t transfer = -1;  // the transfer it waited for, -1: none
};

struct ActorMetrics {
  Nanoseconds busy = 0;       // compute and update
  Nanoseconds recompute = 0;  // of those, in R
  double utilization = 0;     // busy / makespan
  double peak_in_flight = 0;  // microbatch activations; a chunk of a v-chunk actor counts 1/v
  // Weights + activations in flight; of those between I and W, what I leaves.
  std::int64_t peak_bytes = 0;
  // Most versions of a stage's weights that are needed at once: the current one, and those that
  // forwards in flight have read and their backwards will. 1 where the weights change only behind
  // the last op.
  std::int32_t weight_versions = 1;
  std::array<Nanoseconds, kIdleCauses> idle{};  // busy + sum of idle = makespan, exactly
};

struct Metrics {
  // Last end - first start over all actors; Timeline::period where steps overlap.
  Nanoseconds makespan = 0;
  double utilization = 0;   // mean over actors
  double bubble_ratio = 0;  // 1 - utilization
  // (C - m T) / C: C the longest actor span (first start to last end), m T the mean busy time of
  // the actors. The zero-bubble papers' bubble rate (arXiv 2401.10241, section 5).
  double bubble_ratio_span = 0;
  double bubble_over_ideal = 0;  // (makespan - busy) / busy: Megatron's (p-1)/m (arXiv 2104.04473)
  std::optional<double> tokens_per_s;
  std::optional<double> mfu;
  std::vector<ActorMetrics> actors;
};

// Linear in the number of spans and transfers. REQUIRES: a timeline with spans grouped by actor.
Metrics measure(const Timeline& timeline);

// Every idle stretch, by actor, then time. A gap before an op splits at the end of its input's
// producer (dependency before), the start of the transfer (blocked between), and its arrival (p2p);
// what is left is blocked.
std::vector<Idle> idle_stretches(const Timeline& timeline);

// Memory of an actor over time: one sample per change, times rising.
struct MemorySample {
  Nanoseconds at = 0;
  std::int64_t bytes = 0;  // weights + activations in flight
  double in_flight = 0;    // microbatch activations
};
// memory[actor]. An activation opens at the start of F and closes at the end of B or W; in a
// timeline without backwards (inference) at the end of its F. Where it is computed again, it holds
// TimelineStage::kept_bytes until its R starts. An I leaves TimelineStage::left_bytes of it.
std::vector<std::vector<MemorySample>> memory(const Timeline& timeline);

// The chain of binding constraints that ends at the last end. Earliest first; each link starts when
// the one before it ended, arrived or left its channel to the next message. In a simulated timeline
// the links cover the makespan without a gap; in a measured one what lies between two links is
// overhead that no op and no message accounts for. Where steps overlap, it begins with what waited
// for the step before.
struct CriticalLink {
  std::int32_t span = -1;      // index into spans, or -1
  std::int32_t transfer = -1;  // index into transfers, or -1
  Nanoseconds start = 0;       // the stretch of the makespan that it accounts for
  Nanoseconds end = 0;
  bool operator==(const CriticalLink&) const = default;
};
std::vector<CriticalLink> critical_path(const Timeline& timeline);

}  // namespace penstock
