// File: trace.h. A Timeline on disk: a Chrome-trace JSON that Perfetto opens as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/timeline.h"

namespace penstock {

// What a trace can hold.
inline constexpr Nanoseconds kLongestTrace = 9'000'000'000'000'000;  // 104 days, exact as a double
inline constexpr std::int32_t kMostTraceMicrobatches = 1 << 25;

// `traceEvents` for Perfetto (a thread per actor, flows from send to receive, counters for memory)
// and, in front of it, a "penstock" object with what Perfetto does not need, to the nanosecond:
//   {"trace": 1, "name": "1f1b", "source": "predicted", "actors": 4, "microbatches": 8,
//    "tokens": null, "stages": [{"actor", "part", "route", "activation_bytes", "kept_bytes",
//    "left_bytes", "weight_bytes"}], "slices": null or a count per microbatch,
//    "spans": [["3F5", actor, start_ns, end_ns, index of the awaited transfer or null,
//               overlaps_previous]],          also "reduce 3", "norm", "update 3"
//    "transfers": [["3F5", "activation" or "gradient", from, to, bytes, ready, start, end]]}
// REQUIRES: what timeline.h promises, and times >= 0. Throws Error when the timeline is longer or
// has more microbatches than a trace can hold. Deterministic. Thread-safe.
std::string write_trace(const Timeline& timeline);

// read_trace(write_trace(t)) == t. Throws Error with place and hint, all problems but at most 100,
// for anything else: not JSON, no "penstock" object (a trace of another program), indices out of
// range, ops on another actor than their stage, times that do not add up. `where` is the file's
// name. Times of different actors are not compared: their clocks may differ. Thread-safe.
Timeline read_trace(std::string_view json, const std::string& where);

}  // namespace penstock
