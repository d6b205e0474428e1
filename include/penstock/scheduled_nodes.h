// File: scheduled_nodes.h. A step as sail-sg's zero-bubble scheduler planned it, times included.
//
// Its ScheduledNode (scheduler/graph.py) has a start_time and a completion_time in the unit of the
// costs that the scheduler was given: milliseconds where they were profiled. docs/formats.md says
// how to write the nodes.
#pragma once

#include <string>
#include <string_view>

#include "penstock/kineto.h"

namespace penstock {

// The nodes of a file with their times in milliseconds. A message is taken to be under way from its
// producer's end to its consumer's start, and to have no size: what SEND and RECV nodes say is not
// read. The notes name the ops that start before their input is there. Throws Error with every
// problem of the file, at most 100: a node without times, times out of order, what
// read_schedule(.., Format::SailSg) and check() refuse. Thread-safe.
ImportedStep import_nodes(std::string_view json, const std::string& where);

}  // namespace penstock
