// The carriers of a cluster that flows pass, and their shares of these.
#include "penstock/fair_rates.h"

#include <map>
#include <tuple>
#include <utility>

#include "clusters/link_graph.h"
#include "penstock/cluster.h"

namespace penstock {
namespace {

// A carrier of one node or pod of the cluster.
using Place = std::tuple<Carrier::Kind, std::int32_t, std::int32_t>;  // kind, node or pod, index

struct Routed {
  std::vector<std::vector<std::int32_t>> carriers;  // by flow
  std::vector<double> capacity;                     // by carrier
};

// Ways look alike in all nodes: one search for each pair of places in their nodes.
class Ways {
 public:
  explicit Ways(const Cluster& cluster) : cluster_(cluster) {}

  const std::vector<CarriedHop>& between(const Flow& flow) {
    const std::int32_t source = cluster_.node_of(flow.from);
    const std::int32_t target = cluster_.node_of(flow.to);
    const int relation = source == target ? 0 : cluster_.same_leaf(source, target) ? 1 : 2;
    const std::int32_t devices = cluster_.node.devices;
    const auto key = std::tuple(relation, flow.from % devices, flow.to % devices);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, shortest_hops(cluster_, flow.from, flow.to)).first->second;
  }

 private:
  const Cluster& cluster_;
  std::map<std::tuple<int, std::int32_t, std::int32_t>, std::vector<CarriedHop>> known_;
};

Place place_of(const Cluster& cluster, const Carrier& carrier, const Flow& flow) {
  const std::int32_t node = cluster.node_of(carrier.at_target ? flow.to : flow.from);
  const bool is_leaf = carrier.kind == Carrier::Kind::LeafToSpine;
  return {carrier.kind, is_leaf ? node / cluster.fabric.nodes_per_leaf : node, carrier.index};
}

Routed route(const Cluster& cluster, std::span<const Flow> flows) {
  Ways ways(cluster);
  Routed routed;
  std::map<Place, std::int32_t> known;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    routed.carriers.emplace_back();
    for (const CarriedHop& carried : ways.between(flows[f])) {
      const auto number = static_cast<std::int32_t>(routed.capacity.size());
      const auto [found, is_new] =
          known.emplace(place_of(cluster, carried.carrier, flows[f]), number);
      if (is_new) routed.capacity.push_back(carried.hop.bytes_per_s);
      routed.carriers.back().push_back(found->second);
    }
  }
  return routed;
}

}  // namespace

std::vector<double> fair_rates(const Cluster& cluster, std::span<const Flow> flows) {
  const Routed routed = route(cluster, flows);
  std::vector<FlowOnLinks> on_links;
  for (const std::vector<std::int32_t>& carriers : routed.carriers) on_links.push_back({carriers});
  std::vector<double> rates = fair_rates(routed.capacity, on_links);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (routed.carriers[f].empty()) rates[f] = 0;  // to itself
  }
  return rates;
}

}  // namespace penstock
