// File: collective.h. How long devices take to exchange data.
//
// A collective costs what the best of its algorithms does. With n devices on N nodes, S bytes, and
// for each link that is used start a, step t, and the bandwidth B of a device that is achieved
// (LinkUse; t' and B' are those of the NICs):
//
//   ring          all_gather, reduce_scatter: a + (n-N) t + (N-1) t' + S (n-1)/n max(1/B, 1/B')
//                 all_reduce: twice the steps and bytes; B' is what the node's members together
//                 have of its NICs. Thakur, Rabenseifner, Gropp, Optimization of Collective
//                 Communication Operations in MPICH, 2005, 3.1 and 4.4; many rings at once, as
//                 NCCL runs them, use all NICs.
//   tree          all_reduce on several nodes, as chains inside and two trees across: a +
//                 2 (m-1) t + 2 ceil(log2 N) t' + 2 S max(1/B, 1/B'), m the most on a node.
//                 Sanders, Speck, Traff, Two-tree algorithms, 2009.
//   in_switch     all_reduce on one node: the switch fetches S from each device, adds, and sends S
//                 back: a + 2 t + S (n+1)/n / B. NVIDIA's NVLS; NCCL's "n + 1 instead of 2 n sends"
//   hierarchical  reduce_scatter inside each node, then between nodes the devices of equal place
//                 with S/m bytes, then all_gather inside
//   chain         broadcast: a + (n-N) t + (N-1) t' + S max(1/B, 1/B'), pipelined
//   binomial      broadcast: a + ceil(log2 n) (t + S/B), with the slowest link's t and B.
//   Thakur, 3.1 pairwise      all_to_all: each device sends S/n to each other one, off the node
//   through its
//                 NICs: a + max((m-1) t, (n-m) t') + S max((m-1)/n/B, (n-m)/n/B'). Thakur, 4.3
//
// Bytes are those of NCCL's tests (doc/PERFORMANCE.md): the whole buffer of a device, after
// all_gather, before reduce_scatter. All functions are pure and safe to call from any thread.
//
//   collective_cost(cluster, {.devices = {0, 1, 2, 3}}, Collective::AllReduce, 1 << 26).time
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/cluster.h"

namespace penstock {

enum class Collective : std::uint8_t { AllGather, ReduceScatter, AllReduce, AllToAll, Broadcast };
inline constexpr int kCollectives = 5;
std::string_view name(Collective collective);  // "all_gather"

enum class Algorithm : std::uint8_t {
  Nothing,  // one device
  Ring,
  Tree,
  InSwitch,
  Hierarchical,
  Chain,
  Binomial,
  Pairwise
};
std::string_view name(Algorithm algorithm);  // "in_switch"

// Who takes part: devices of the cluster, each once.
struct Group {
  std::vector<std::int32_t> devices;
  // Nobody else sends meanwhile. Else all devices of the cluster do the same in groups like this
  // one, as they do in training, and share NICs and the way to the spine with it.
  bool alone = false;
};

struct CollectiveCost {
  Nanoseconds time = 0;
  Algorithm algorithm = Algorithm::Nothing;
  bool operator==(const CollectiveCost&) const = default;
};

// By the fastest algorithm. REQUIRES: bytes >= 0; the group has one device or more.
CollectiveCost collective_cost(const Cluster& cluster, const Group& group, Collective collective,
                               std::int64_t bytes);

// By every algorithm that the cluster has for it, in the order of Algorithm.
std::vector<CollectiveCost> collective_costs(const Cluster& cluster, const Group& group,
                                             Collective collective, std::int64_t bytes);

// bytes[i * n + j] from the group's i-th device to its j-th. The busiest device, NIC or way to the
// spine sets the pace; the start and steps are those of all_to_all.
// REQUIRES: n * n values >= 0.
Nanoseconds all_to_all_v(const Cluster& cluster, const Group& group,
                         std::span<const std::int64_t> bytes);

// A send and its receive, as the simulator takes it: latency is the start and the path's latency,
// bytes_per_s what the narrowest link of the path achieves. `alone` as in Group.
// Without a path (from a device to itself) it costs nothing: bytes_per_s 0.
MessageCost message_cost(const Cluster& cluster, std::int32_t from, std::int32_t to,
                         std::int64_t bytes, bool alone = false);

// NCCL's measure, bytes per second that a link would have to carry in a ring: bytes / time x
// 2(n-1)/n for all_reduce, 1 for broadcast, (n-1)/n for the others.
// REQUIRES: time > 0, devices > 0.
double bus_bandwidth(Collective collective, std::int64_t devices, std::int64_t bytes,
                     Nanoseconds time);

}  // namespace penstock
