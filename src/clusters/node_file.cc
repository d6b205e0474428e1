#include "clusters/node_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "clusters/link_file.h"
#include "penstock/nearest.h"

namespace penstock {
namespace {

constexpr std::int32_t kMostPerNode = 1024;

std::int32_t read_index(const JsonReader& reader, std::int32_t devices) {
  return static_cast<std::int32_t>(reader.as_integer({.max = devices - 1}));
}

using Pairs = std::set<std::pair<std::int32_t, std::int32_t>>;

// [a, b, links]
void read_wire(const JsonReader& reader, Node& node, Pairs& joined) {
  if (!reader.is_array()) return;
  if (reader.size() != 3) {
    reader.problem("expected [device, device, links]");
    return;
  }
  const std::int32_t a = read_index(reader.at(0), node.devices);
  const std::int32_t b = read_index(reader.at(1), node.devices);
  const auto links =
      static_cast<std::int32_t>(reader.at(2).as_integer({.min = 1, .max = 1000, .fallback = 1}));
  if (a == b) reader.problem("a device is joined to itself");
  if (!joined.emplace(std::min(a, b), std::max(a, b)).second) {
    reader.problem("this pair is joined twice", "add up the links of a pair");
  }
  node.wires.push_back({a, b, links});
}

void read_wires(const JsonReader& object, Node& node) {
  const auto wires = object.required("wires", "an array of [device, device, links]");
  if (!wires || !wires->is_array()) return;
  Pairs joined;
  for (std::size_t i = 0; i < wires->size(); ++i) read_wire(wires->at(i), node, joined);
}

void read_device_link(const JsonReader& object, Node& node) {
  object.only(
      {"joins", "wires", "gb_per_s", "latency_us", "source", "message", "collective", "in_switch"});
  if (!object.is_object()) return;
  constexpr std::string_view kJoins[] = {"switch", "pairs"};
  const std::string joins = object.text("joins", "switch", true);
  if (joins != "switch" && joins != "pairs") {
    object.at("joins").problem(fmt::format("a link does not join '{}'", joins),
                               did_you_mean(joins, kJoins));
  }
  node.wiring = joins == "pairs" ? Wiring::Pairs : Wiring::Switch;
  node.device_link = read_link(object);
  if (node.wiring == Wiring::Pairs) {
    read_wires(object, node);
    if (object.has("in_switch")) {
      object.at("in_switch").problem("there is no switch", "\"joins\": \"switch\" has one");
    }
  } else if (object.has("wires")) {
    object.at("wires").problem("a switch joins all devices", "\"joins\": \"pairs\" has wires");
  }
}

// The devices that one NIC serves.
std::vector<std::int32_t> read_served(const JsonReader& reader, std::int32_t devices) {
  std::vector<std::int32_t> served;
  if (!reader.is_array()) return served;
  for (std::size_t i = 0; i < reader.size(); ++i) {
    served.push_back(read_index(reader.at(i), devices));
  }
  std::sort(served.begin(), served.end());
  if (served.empty() || std::adjacent_find(served.begin(), served.end()) != served.end()) {
    reader.problem("expected one or more devices, each once");
  }
  return served;
}

using Served = std::vector<std::vector<std::int32_t>>;  // by NIC

Served read_serves(const JsonReader& object, std::int32_t count, std::int32_t devices) {
  Served served;
  const JsonReader serves = object.at("serves");
  if (!serves.is_array()) return served;
  if (serves.size() != static_cast<std::size_t>(count)) {
    serves.problem(fmt::format("{} entries for {} NICs", serves.size(), count),
                   "one array of devices for each NIC");
  }
  for (std::size_t i = 0; i < serves.size(); ++i) {
    served.push_back(read_served(serves.at(i), devices));
  }
  return served;
}

// NIC i of n beside the devices that lie nearest to it in the order.
Served even_shares(const JsonReader& object, std::int32_t count, std::int32_t devices) {
  Served served(static_cast<std::size_t>(count));
  if (count % devices != 0 && devices % count != 0) {
    object.problem(fmt::format("{} NICs do not divide among {} devices", count, devices),
                   "say with \"serves\" which devices each NIC serves");
    return {};
  }
  const std::int64_t most = std::max(count, devices);
  for (std::int64_t i = 0; i < most; ++i) {
    served[static_cast<std::size_t>(i * count / most)].push_back(
        static_cast<std::int32_t>(i * devices / most));
  }
  return served;
}

void check_each_is_served(const JsonReader& object, const std::vector<NicGroup>& groups,
                          std::int32_t devices) {
  std::vector<std::int32_t> times(static_cast<std::size_t>(devices), 0);
  for (const NicGroup& group : groups) {
    for (const std::int32_t device : group.devices) ++times[static_cast<std::size_t>(device)];
  }
  for (std::int32_t device = 0; device < devices; ++device) {
    const std::int32_t count = times[static_cast<std::size_t>(device)];
    if (count == 1) continue;
    object.problem(count == 0 ? fmt::format("no NIC serves device {}", device)
                              : fmt::format("NICs that differ serve device {}", device),
                   "NICs serve either the same devices or none in common, together all");
  }
}

}  // namespace

Node read_node(const JsonReader& object) {
  Node node;
  object.only({"devices", "link", "host"});
  if (!object.is_object()) return node;
  node.devices = static_cast<std::int32_t>(
      object.integer("devices", {.required = true, .min = 1, .max = kMostPerNode, .fallback = 1}));
  if (object.has("link")) read_device_link(object.at("link"), node);
  if (const auto host = object.required("host", "the link between a device and the host")) {
    host->only({"gb_per_s", "latency_us", "source", "message", "collective"});
    node.host = read_link(*host);
  }
  return node;
}

void read_nics(const JsonReader& object, Cluster& cluster) {
  object.only(
      {"count", "serves", "gb_per_s", "latency_us", "source", "message", "collective", "tree"});
  if (!object.is_object()) return;
  cluster.nic = read_link(object);
  const std::int32_t devices = cluster.node.devices;
  const auto count = static_cast<std::int32_t>(
      object.integer("count", {.required = true, .min = 1, .max = kMostPerNode, .fallback = 1}));
  const Served served = object.has("serves") ? read_serves(object, count, devices)
                                             : even_shares(object, count, devices);
  std::map<std::vector<std::int32_t>, std::int32_t> nics;
  for (const std::vector<std::int32_t>& group : served) ++nics[group];
  for (const auto& [group, number] : nics) cluster.nics.push_back({group, number});
  if (!served.empty()) check_each_is_served(object, cluster.nics, devices);
}

}  // namespace penstock
