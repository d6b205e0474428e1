#include "clusters/link_graph.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <fmt/format.h>

namespace penstock {
namespace {

struct Edge {
  const Link* link;
  double bytes_per_s;
  Nanoseconds latency;
  Carrier carrier;
  Nanoseconds weight;
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, std::string, Edge>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;

// What decides between two ways: the time of a message as large as those of a pipeline.
constexpr double kMessageBytes = 1 << 20;

class Builder {
 public:
  explicit Builder(const Cluster& cluster) : cluster_(cluster) {}

  // The devices of a node and what joins them. `at_target`: of the node that a message goes to.
  std::vector<Vertex> add_node(std::int32_t node, bool at_target) {
    at_target_ = at_target;
    index_ = 0;
    std::vector<Vertex> devices;
    for (std::int32_t d = 0; d < cluster_.node.devices; ++d) {
      devices.push_back(add("device", node * cluster_.node.devices + d));
    }
    add_host(node, devices);
    if (cluster_.node.wiring == Wiring::Switch) add_switch(node, devices);
    for (const Wire& wire : cluster_.node.wires) {
      const double rate = cluster_.node.device_link.bytes_per_s * wire.links;
      join_both(devices[static_cast<std::size_t>(wire.a)],
                devices[static_cast<std::size_t>(wire.b)], cluster_.node.device_link, rate);
    }
    return devices;
  }

  // The NICs of the node that was added last, and the wires to their leaves, by NIC group.
  void add_nics(std::int32_t node, const std::vector<Vertex>& devices,
                const std::vector<Vertex>& leaves) {
    for (std::size_t i = 0; i < cluster_.nics.size(); ++i) {
      const NicGroup& group = cluster_.nics[i];
      const Vertex nic = boost::add_vertex(fmt::format("nic {} of node {}", i, node), graph_);
      for (const std::int32_t device : group.devices) {
        // The NIC's latency is from the device's memory to the leaf.
        join_both(devices[static_cast<std::size_t>(device)], nic, cluster_.node.host,
                  cluster_.node.host.bytes_per_s, 0);
      }
      join_both(nic, leaves[i], cluster_.nic, cluster_.nic.bytes_per_s * group.nics);
    }
  }

  // The leaf switches of a pod, by NIC group.
  std::vector<Vertex> add_leaves(std::int32_t pod) {
    std::vector<Vertex> leaves;
    const bool is_rail = cluster_.fabric.kind == FabricKind::Rail;
    for (std::size_t i = 0; i < cluster_.nics.size(); ++i) {
      const bool is_new = is_rail || leaves.empty();
      const std::string name =
          is_rail ? fmt::format("leaf {} of pod {}", i, pod) : fmt::format("leaf {}", pod);
      leaves.push_back(is_new ? boost::add_vertex(name, graph_) : leaves.front());
    }
    return leaves;
  }

  // Between the leaves of a pod and the spine, both ways.
  void join_spine(const std::vector<Vertex>& leaves, Vertex spine, bool at_target) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (i > 0 && leaves[i] == leaves[0]) break;
      double nics = 0;  // of a node, on this leaf
      for (std::size_t k = 0; k < leaves.size(); ++k) {
        if (leaves[k] == leaves[i]) nics += cluster_.nics[k].nics;
      }
      const double rate = cluster_.nic.bytes_per_s * nics * cluster_.fabric.nodes_per_leaf /
                          cluster_.fabric.oversubscription;
      for (const bool up : {true, false}) {
        const Carrier carrier = {Carrier::Kind::LeafToSpine, at_target,
                                 static_cast<std::int32_t>(2 * i + (up ? 1 : 0))};
        join(up ? leaves[i] : spine, up ? spine : leaves[i], cluster_.nic, rate,
             cluster_.fabric.spine_latency, carrier);
      }
    }
  }

  Vertex add_spine() { return boost::add_vertex(std::string("spine"), graph_); }
  const Graph& graph() const { return graph_; }

 private:
  Vertex add(std::string_view what, std::int32_t number) {
    return boost::add_vertex(fmt::format("{} {}", what, number), graph_);
  }

  void add_host(std::int32_t node, const std::vector<Vertex>& devices) {
    const Vertex host = add("host of node", node);
    for (const Vertex device : devices) {
      join_both(device, host, cluster_.node.host, cluster_.node.host.bytes_per_s);
    }
  }

  // A hop through the switch has the link's latency once: on the way in.
  void add_switch(std::int32_t node, const std::vector<Vertex>& devices) {
    const Vertex middle = add("switch of node", node);
    const Link& link = cluster_.node.device_link;
    for (const Vertex device : devices) {
      join(device, middle, link, link.bytes_per_s, link.latency, next());
      join(middle, device, link, link.bytes_per_s, 0, next());
    }
  }

  void join_both(Vertex a, Vertex b, const Link& link, double rate) {
    join_both(a, b, link, rate, link.latency);
  }
  void join_both(Vertex a, Vertex b, const Link& link, double rate, Nanoseconds latency) {
    join(a, b, link, rate, latency, next());
    join(b, a, link, rate, latency, next());
  }

  void join(Vertex from, Vertex to, const Link& link, double rate, Nanoseconds latency,
            const Carrier& carrier) {
    const auto weight = latency + static_cast<Nanoseconds>(kMessageBytes / rate * 1e9);
    boost::add_edge(from, to, Edge{&link, rate, latency, carrier, weight}, graph_);
  }

  Carrier next() { return {Carrier::Kind::NodeLink, at_target_, index_++}; }

  const Cluster& cluster_;
  Graph graph_;
  bool at_target_ = false;
  std::int32_t index_ = 0;
};

// From the predecessors that Dijkstra's search leaves.
std::vector<CarriedHop> hops_to(Vertex target, Vertex source, const std::vector<Vertex>& before,
                                const Graph& graph) {
  std::vector<CarriedHop> hops;
  for (Vertex at = target; at != source; at = before[at]) {
    const Edge* best = nullptr;
    const auto [begin, end] = boost::out_edges(before[at], graph);
    for (auto edge = begin; edge != end; ++edge) {
      if (boost::target(*edge, graph) != at) continue;
      if (best == nullptr || graph[*edge].weight < best->weight) best = &graph[*edge];
    }
    hops.push_back({{graph[before[at]], graph[at], best->link, best->bytes_per_s, best->latency},
                    best->carrier});
  }
  std::reverse(hops.begin(), hops.end());
  return hops;
}

std::vector<CarriedHop> search(const Graph& graph, Vertex from, Vertex to) {
  std::vector<Vertex> before(boost::num_vertices(graph));
  boost::dijkstra_shortest_paths(graph, from,
                                 boost::weight_map(boost::get(&Edge::weight, graph))
                                     .predecessor_map(boost::make_iterator_property_map(
                                         before.begin(), boost::get(boost::vertex_index, graph))));
  return hops_to(to, from, before, graph);
}

}  // namespace

std::vector<CarriedHop> shortest_hops(const Cluster& cluster, std::int32_t from, std::int32_t to) {
  if (from == to) return {};
  Builder builder(cluster);
  const std::int32_t source = cluster.node_of(from);
  const std::int32_t target = cluster.node_of(to);
  const auto local = [&](std::int32_t device) {
    return static_cast<std::size_t>(device % cluster.node.devices);
  };
  const std::vector<Vertex> sources = builder.add_node(source, false);
  if (source == target) return search(builder.graph(), sources[local(from)], sources[local(to)]);
  const std::vector<Vertex> leaves = builder.add_leaves(source / cluster.fabric.nodes_per_leaf);
  builder.add_nics(source, sources, leaves);
  const std::vector<Vertex> targets = builder.add_node(target, true);
  const bool same_pod = cluster.same_leaf(source, target);
  const std::vector<Vertex> others =
      same_pod ? leaves : builder.add_leaves(target / cluster.fabric.nodes_per_leaf);
  builder.add_nics(target, targets, others);
  const Vertex spine = builder.add_spine();
  builder.join_spine(leaves, spine, false);
  if (!same_pod) builder.join_spine(others, spine, true);
  return search(builder.graph(), sources[local(from)], targets[local(to)]);
}

}  // namespace penstock
