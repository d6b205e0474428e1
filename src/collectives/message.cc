#include <algorithm>

#include "clusters/link_graph.h"
#include "collectives/team.h"
#include "penstock/collective.h"

namespace penstock {
namespace {

// How many share the hop when every device sends.
double sharers(const Cluster& cluster, const CarriedHop& carried, std::int32_t device) {
  if (carried.hop.link != &cluster.nic) return 1;
  if (carried.carrier.kind == Carrier::Kind::NodeLink) {
    return static_cast<double>(cluster.nics[cluster.nics_of(device)].devices.size());
  }
  // Each device has its part of the way of all leaves of the pod to the spine.
  return carried.hop.bytes_per_s / spine_rate(cluster) *
         static_cast<double>(nodes_below(cluster) * cluster.node.devices);
}

}  // namespace

MessageCost message_cost(const Cluster& cluster, std::int32_t from, std::int32_t to,
                         std::int64_t bytes, bool alone) {
  MessageCost cost = {.bytes = bytes};
  Nanoseconds start = 0;
  for (const CarriedHop& carried : shortest_hops(cluster, from, to)) {
    const LinkUse& use = carried.hop.link->message;
    const double rate = use.rate(carried.hop.bytes_per_s, static_cast<double>(bytes)) /
                        (alone ? 1 : sharers(cluster, carried, from));
    cost.bytes_per_s = cost.bytes_per_s == 0 ? rate : std::min(cost.bytes_per_s, rate);
    cost.latency += carried.hop.latency;
    start = std::max(start, use.start);
  }
  cost.latency += start;
  return cost;
}

}  // namespace penstock
