// File: link_graph.h. The links between two devices. Nodes are equal, so the graph holds at most
// two of them and the switches between, however large the cluster is.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "penstock/cluster.h"

namespace penstock {

// What carries the traffic of a hop, in one direction: a link of a node, or the links between a
// leaf switch and the spine taken as one.
struct Carrier {
  enum class Kind : std::uint8_t { NodeLink, LeafToSpine };
  Kind kind = Kind::NodeLink;
  bool at_target = false;  // in the target's node or pod, else in the source's
  std::int32_t index = 0;  // in the node or pod
  auto operator<=>(const Carrier&) const = default;
};

struct CarriedHop {
  Hop hop;
  Carrier carrier;
};

// The hops of path().
std::vector<CarriedHop> shortest_hops(const Cluster& cluster, std::int32_t from, std::int32_t to);

}  // namespace penstock
