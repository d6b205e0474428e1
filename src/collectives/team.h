// File: team.h. What a group has of the links: the numbers behind every algorithm.
#pragma once

#include <cstdint>
#include <span>

#include "penstock/collective.h"

namespace penstock {

// The way out of a node for all that the group's members there send.
struct WayOut {
  double device_rate = 0;  // bytes per second, as specified, of the worst-off device
  double node_rate = 0;    // of the members of the worst-off node together
};

struct Team {
  std::int64_t devices = 0;
  std::int64_t nodes = 0;
  std::int64_t fewest = 0;  // members on a node
  std::int64_t most = 0;
  const Link* inside = nullptr;   // null: every member is alone on its node
  double inside_rate = 0;         // as specified, between a member and the others of its node
  const Link* outside = nullptr;  // the NICs; null: one node
  WayOut ring;                    // each node sends to the next
  WayOut everywhere;              // each device sends to all
};

// REQUIRES: the group has members.
Team team_of(const Cluster& cluster, const Group& group);

// Devices that share the NICs of `device` when the group runs, itself included. `members` are those
// of the group on its node, and perhaps more of the group.
std::int64_t nic_users(const Cluster& cluster, const Group& group,
                       std::span<const std::int32_t> members, std::int32_t device);

// Bytes per second between all leaves of one pod and the spine, as specified, in one direction.
double spine_rate(const Cluster& cluster);
// Nodes below it.
std::int64_t nodes_below(const Cluster& cluster);

// Nearest nanosecond, no more than kLongestMs.
Nanoseconds rounded(double nanoseconds);

}  // namespace penstock
