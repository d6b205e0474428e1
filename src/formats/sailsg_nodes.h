// File: sailsg_nodes.h. The scheduled nodes of sail-sg's zero-bubble repository
// (scheduler/graph.py, ScheduledNode), which has no file format of its own: the fields of every
// node as JSON, a list per pipeline rank. There B is the input gradient and BW the full backward; a
// layer group is a stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/costs.h"
#include "penstock/op.h"
#include "penstock/schedule.h"

namespace penstock {

// A node that computes.
struct ScheduledNode {
  Op op;
  Nanoseconds start = 0;  // where times are wanted
  Nanoseconds end = 0;
};

// Wanted: every node must have its times (milliseconds), in the order of its rank's list.
enum class NodeTimes : std::uint8_t { Ignored, Wanted };

// The nodes that compute, of every rank. Throws Error with every problem of the file, at most 100.
std::vector<std::vector<ScheduledNode>> read_nodes(std::string_view content,
                                                   const std::string& where, NodeTimes times);

// The order of the nodes. Throws Error when they are no schedule's.
Schedule schedule_of_nodes(const std::vector<std::vector<ScheduledNode>>& ranks,
                           const std::string& where);

// "B" of an input gradient.
std::string_view node_type(OpKind kind);

}  // namespace penstock
