// File: cluster.h. The machines as a file describes them: devices, nodes, links, network.
//
// Inside, everything is in bytes, bytes per second, FLOP per second and nanoseconds; files name
// their units in the keys (docs/clusters.md). All functions are pure and safe to call from any
// thread.
//
//   const Cluster cluster = read_cluster(read_file("dgx-h100.json"), "dgx-h100.json");
//   path(cluster, 0, 8).bytes_per_s    // the NIC between two nodes
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/costs.h"
#include "penstock/error.h"

namespace penstock {

// What the matrix units calculate in.
enum class Arithmetic : std::uint8_t { Fp32, Tf32, Bf16, Fp16, Fp8 };
inline constexpr int kArithmetics = 5;
std::string_view name(Arithmetic arithmetic);  // "bf16"
std::optional<Arithmetic> parse_arithmetic(std::string_view text);

// Work that reaches different parts of a device's peak. The first four are measured against FLOP/s,
// Memory against the bandwidth.
enum class Work : std::uint8_t { Forward, InputGradient, WeightGradient, Attention, Memory };
inline constexpr int kWorks = 5;
std::string_view name(Work work);  // "input_gradient"

// A fraction of a peak by size (FLOP or bytes): linear in the logarithm of the size between the
// points, constant before the first and behind the last.
struct Curve {
  struct Point {
    double size = 0;
    double fraction = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  // by rising size; readers see to it that size / at(size) never falls
  double at(double size) const;  // REQUIRES: !points.empty(), size >= 0
  bool operator==(const Curve&) const = default;
};

struct DeviceType {
  std::string name;
  std::array<double, kArithmetics> flop_per_s = {};  // dense; 0: it has no such arithmetic
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  // Of a work in an arithmetic of its own, else of the work in any.
  std::array<Curve, kWorks> efficiency;
  std::array<std::array<Curve, kArithmetics>, kWorks> own_efficiency;

  // The fraction of the peak that work of so many FLOP (Memory: bytes) reaches.
  double fraction(Work work, Arithmetic arithmetic, double size) const;
  bool operator==(const DeviceType&) const = default;
};

// How operations of one kind use a link.
struct LinkUse {
  Nanoseconds start = 0;  // once per operation: launch, rendezvous
  Nanoseconds step = 0;   // per step of a collective's algorithm
  Curve achieved;         // fraction of the bandwidth, by the bytes that a device sends over it
  double rate(double bytes_per_s, double bytes) const { return bytes_per_s * achieved.at(bytes); }
  bool operator==(const LinkUse&) const = default;
};

// One kind of wire. Bandwidth is per direction, as specified; latency that of a message's hop.
struct Link {
  double bytes_per_s = 0;
  Nanoseconds latency = 0;
  LinkUse message;                   // send and receive
  LinkUse collective;                // rings, all-to-all
  std::optional<LinkUse> tree;       // double binary trees, where the library has them
  std::optional<LinkUse> in_switch;  // the switch adds and copies (NVLS)
  bool operator==(const Link&) const = default;
};

// What joins the devices of a node besides the host: nothing, a switch that gives each the link's
// full bandwidth to all others, or wires between pairs.
enum class Wiring : std::uint8_t { Host, Switch, Pairs };

struct Wire {
  std::int32_t a = 0;
  std::int32_t b = 0;
  std::int32_t links = 1;  // so many side by side
  bool operator==(const Wire&) const = default;
};

struct Node {
  std::int32_t devices = 1;
  Wiring wiring = Wiring::Host;
  Link device_link;         // of Switch and Pairs
  std::vector<Wire> wires;  // of Pairs
  Link host;                // device to host, device to NIC: PCIe or what takes its place
  bool operator==(const Node&) const = default;
};

// NICs that serve the same devices of the node, as one. Devices share what they have to share.
struct NicGroup {
  std::vector<std::int32_t> devices;  // by index in the node
  std::int32_t nics = 1;
  bool operator==(const NicGroup&) const = default;
};

// Rail: NIC i of every node hangs on leaf switch i of its pod. Leaf: all NICs of a node on one.
enum class FabricKind : std::uint8_t { Rail, Leaf };

struct Fabric {
  FabricKind kind = FabricKind::Leaf;
  std::int32_t nodes_per_leaf = 1;  // Rail: per pod
  double oversubscription = 1;      // bandwidth into a leaf from below over that to the spine
  Nanoseconds spine_latency = 0;    // of a hop between leaf and spine
  bool operator==(const Fabric&) const = default;
};

// Equal nodes. Device d is device d % node.devices of node d / node.devices.
struct Cluster {
  std::string name;
  std::string about;
  DeviceType device;
  Node node;
  Link nic;  // bandwidth of one
  std::vector<NicGroup> nics;
  Fabric fabric;
  std::int32_t nodes = 1;

  std::int32_t devices() const { return nodes * node.devices; }
  std::int32_t node_of(std::int32_t device) const { return device / node.devices; }
  // Index into `nics` of those that serve it. REQUIRES: nodes > 1.
  std::size_t nics_of(std::int32_t device) const;
  bool same_leaf(std::int32_t node, std::int32_t other) const {
    return node / fabric.nodes_per_leaf == other / fabric.nodes_per_leaf;
  }
  bool operator==(const Cluster&) const = default;
};

// Throws Error with all problems of the file. No cluster has more than kMostDevices.
inline constexpr std::int32_t kMostDevices = 1 << 20;
Cluster read_cluster(std::string_view json, const std::string& where);

struct Hop {
  std::string from;  // "device 3", "switch", "nic 3", "leaf 3", "spine"
  std::string to;
  const Link* link = nullptr;  // of the cluster, which must outlive it
  double bytes_per_s = 0;
  Nanoseconds latency = 0;
};

struct Path {
  std::vector<Hop> hops;    // none from a device to itself
  double bytes_per_s = 0;   // the narrowest; 0 without hops
  Nanoseconds latency = 0;  // the sum
};

// The way that a message of 1 MiB crosses soonest. REQUIRES: both are devices of the cluster.
Path path(const Cluster& cluster, std::int32_t from, std::int32_t to);

struct Flow {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

// Bytes per second of each flow when all go at once: max-min fair over the links of their paths
// (Bertsekas and Gallager, Data Networks, 6.5.2), by specified bandwidth. A flow to itself: 0.
std::vector<double> fair_rates(const Cluster& cluster, std::span<const Flow> flows);

}  // namespace penstock
