#include <algorithm>

#include "clusters/link_graph.h"
#include "penstock/cluster.h"

namespace penstock {

std::size_t Cluster::nics_of(std::int32_t device) const {
  const std::int32_t local = device % node.devices;
  const auto found = std::find_if(nics.begin(), nics.end(), [&](const NicGroup& group) {
    return std::find(group.devices.begin(), group.devices.end(), local) != group.devices.end();
  });
  return static_cast<std::size_t>(found - nics.begin());
}

Path path(const Cluster& cluster, std::int32_t from, std::int32_t to) {
  Path path;
  for (CarriedHop& carried : shortest_hops(cluster, from, to)) {
    Hop& hop = carried.hop;
    path.bytes_per_s =
        path.hops.empty() ? hop.bytes_per_s : std::min(path.bytes_per_s, hop.bytes_per_s);
    path.latency += hop.latency;
    path.hops.push_back(std::move(hop));
  }
  return path;
}

}  // namespace penstock
