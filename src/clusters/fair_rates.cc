// Max-min fair rates by progressive filling: the carrier that gives its flows the least is full
// first; its flows keep that, and the others share what is left.
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "clusters/link_graph.h"
#include "penstock/cluster.h"

namespace penstock {
namespace {

// A carrier of one node or pod of the cluster.
using Place = std::tuple<Carrier::Kind, std::int32_t, std::int32_t>;  // kind, node or pod, index

struct Load {
  double left = 0;        // bandwidth not yet given away
  std::int32_t open = 0;  // flows that still grow
  std::vector<std::size_t> flows;
};

struct Routed {
  std::vector<std::vector<std::size_t>> carriers;  // by flow: indices into loads
  std::vector<Load> loads;
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
  std::map<Place, std::size_t> known;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    routed.carriers.emplace_back();
    for (const CarriedHop& carried : ways.between(flows[f])) {
      const auto [found, is_new] =
          known.emplace(place_of(cluster, carried.carrier, flows[f]), routed.loads.size());
      if (is_new) routed.loads.push_back({carried.hop.bytes_per_s, 0, {}});
      Load& load = routed.loads[found->second];
      ++load.open;
      load.flows.push_back(f);
      routed.carriers.back().push_back(found->second);
    }
  }
  return routed;
}

}  // namespace

std::vector<double> fair_rates(const Cluster& cluster, std::span<const Flow> flows) {
  Routed routed = route(cluster, flows);
  std::vector<double> rates(flows.size(), 0);
  std::vector<std::uint8_t> settled(flows.size(), 0);
  std::set<std::pair<double, std::size_t>> by_share;  // of the carriers with flows that still grow
  const auto share = [&](std::size_t c) { return routed.loads[c].left / routed.loads[c].open; };
  for (std::size_t c = 0; c < routed.loads.size(); ++c) by_share.emplace(share(c), c);
  while (!by_share.empty()) {
    const auto [rate, fullest] = *by_share.begin();
    for (const std::size_t flow : routed.loads[fullest].flows) {
      if (settled[flow] != 0) continue;
      settled[flow] = 1;
      rates[flow] = rate;
      for (const std::size_t c : routed.carriers[flow]) {
        by_share.erase({share(c), c});
        routed.loads[c].left -= rate;
        if (--routed.loads[c].open > 0) by_share.emplace(share(c), c);
      }
    }
  }
  return rates;
}

}  // namespace penstock
