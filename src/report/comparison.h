// File: comparison.h. Two timelines of one schedule, number by number.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "penstock/metrics.h"
#include "penstock/timeline.h"

namespace penstock {

// One number of both timelines. `a` is the reference.
struct Both {
  std::optional<double> a;  // absent: the timeline does not have it
  std::optional<double> b;
};

// Mean duration of the spans of one kind, in nanoseconds, and how many there are.
struct KindComparison {
  std::string kind;  // of kSpanKinds
  Both mean;
  std::int64_t count_a = 0;
  std::int64_t count_b = 0;
};

struct ActorComparison {
  Both busy;  // nanoseconds
  Both idle;  // nanoseconds
  Both utilization;
  Both peak_bytes;  // absent when unknown
};

struct Comparison {
  Metrics a;
  Metrics b;
  std::vector<KindComparison> kinds;                // every kind that either has
  std::vector<ActorComparison> actors;              // by actor
  std::vector<std::vector<KindComparison>> stages;  // stages[stage]: its kinds
  Both transfer;                                    // mean time of a message, ready to end, ns
  // 100 (predicted - measured) / measured of the makespan, when there is one of each.
  std::optional<double> error_percent;
  std::int64_t only_a = 0;  // ops that only one of them ran: not the same schedule
  std::int64_t only_b = 0;
};

Comparison compare(const Timeline& a, const Timeline& b);

// 100 (b - a) / a; absent when either is, or when a is 0.
std::optional<double> difference(const Both& both);

}  // namespace penstock
