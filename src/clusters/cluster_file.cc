#include <fmt/format.h>

#include "clusters/curve_file.h"
#include "clusters/device_file.h"
#include "clusters/link_file.h"
#include "clusters/node_file.h"
#include "json_reader.h"
#include "penstock/cluster.h"
#include "penstock/nearest.h"

namespace penstock {
namespace {

Fabric read_fabric(const JsonReader& object) {
  Fabric fabric;
  object.only({"kind", "nodes_per_leaf", "oversubscription", "spine_latency_us", "source"});
  if (!object.is_object()) return fabric;
  require_source(object);
  constexpr std::string_view kKinds[] = {"leaf", "rail"};
  const std::string kind = object.text("kind", "leaf", true);
  if (kind != "leaf" && kind != "rail") {
    object.at("kind").problem(fmt::format("there is no fabric '{}'", kind),
                              did_you_mean(kind, kKinds));
  }
  fabric.kind = kind == "rail" ? FabricKind::Rail : FabricKind::Leaf;
  fabric.nodes_per_leaf = static_cast<std::int32_t>(object.integer(
      "nodes_per_leaf", {.required = true, .min = 1, .max = kMostDevices, .fallback = 1}));
  fabric.oversubscription =
      object.number("oversubscription", {.required = true, .min = 1, .max = 1000, .fallback = 1});
  fabric.spine_latency =
      from_ms(object.number("spine_latency_us", {.required = true, .max = 1e6}) * 1e-3);
  return fabric;
}

void read_network(const JsonReader& root, Cluster& cluster) {
  const bool needed = cluster.nodes > 1;
  if (needed || root.has("nics")) {
    if (const auto nics = root.required("nics", "the NICs of a node")) read_nics(*nics, cluster);
  }
  if (needed || root.has("fabric")) {
    const auto fabric = root.required("fabric", "an object: how the nodes are joined");
    if (fabric) cluster.fabric = read_fabric(*fabric);
  }
}

}  // namespace

Cluster read_cluster(std::string_view json, const std::string& where) {
  std::vector<Problem> problems;
  const nlohmann::json document = parse_json(json, where);
  const JsonReader root(document, where, problems);
  Cluster cluster;
  root.only({"penstock_cluster", "name", "about", "device", "node", "nics", "fabric", "nodes"});
  if (!root.is_object()) throw Error(problems);
  root.integer("penstock_cluster", {.required = true, .min = 1, .max = 1});
  cluster.name = root.text("name", {}, true);
  cluster.about = root.text("about");
  if (const auto device = root.required("device", "an object: what calculates")) {
    cluster.device = read_device(*device);
  }
  if (const auto node = root.required("node", "an object: the devices of a node")) {
    cluster.node = read_node(*node);
  }
  const std::int32_t most = kMostDevices / cluster.node.devices;
  cluster.nodes = static_cast<std::int32_t>(
      root.integer("nodes", {.required = true, .min = 1, .max = most, .fallback = 1}));
  read_network(root, cluster);
  if (!problems.empty()) throw Error(problems);
  return cluster;
}

}  // namespace penstock
