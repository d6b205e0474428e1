// File: trace_events.h. The part of a trace file that Perfetto and chrome://tracing read.
#pragma once

#include <string>

#include "penstock/timeline.h"

namespace penstock {

// Appends the elements of "traceEvents": the process and a thread per actor with names and sort
// order, an "X" event per span, an "s"/"f" pair from each transfer's producer to its consumer, and
// counters for memory and microbatches in flight.
void append_trace_events(std::string& out, const Timeline& timeline);

}  // namespace penstock
