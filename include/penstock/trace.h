// File: trace.h. A Timeline on disk: a Chrome-trace JSON that Perfetto opens as it is.
#pragma once

#include <string>
#include <string_view>

#include "penstock/timeline.h"

namespace penstock {

// `traceEvents` for Perfetto (a thread per actor, flows from send to receive, counters for memory)
// and a "penstock" object with what Perfetto does not need, to the nanosecond.
std::string write_trace(const Timeline& timeline);

// read_trace(write_trace(t)) == t. Throws Error with place and hint for anything else: not JSON, no
// "penstock" object (a trace of another program), times that do not add up.
Timeline read_trace(std::string_view json, const std::string& where);

}  // namespace penstock
