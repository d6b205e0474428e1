// An all-to-all of unequal parts: what every device, NIC and way to the spine has to carry.
#include <algorithm>
#include <map>
#include <utility>

#include "collectives/algorithms.h"
#include "collectives/team.h"
#include "penstock/collective.h"

namespace penstock {
namespace {

// Bytes in one direction.
struct Load {
  double bytes = 0;
  double of_a_device = 0;  // the most that one device has of it
  double members = 0;
};

// By direction (0: out, 1: in).
struct Loads {
  std::array<std::vector<double>, 2> inside;      // by member
  std::array<std::vector<double>, 2> outside;     // by member
  std::array<std::vector<double>, 2> past_spine;  // by member
};

Loads loads_of(const Cluster& cluster, const Group& group, std::span<const std::int64_t> bytes) {
  const std::size_t n = group.devices.size();
  Loads loads;
  for (auto* by_member : {&loads.inside, &loads.outside, &loads.past_spine}) {
    for (std::vector<double>& direction : *by_member) direction.assign(n, 0);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const std::int32_t from = cluster.node_of(group.devices[i]);
      const std::int32_t to = cluster.node_of(group.devices[j]);
      const auto sent = static_cast<double>(bytes[i * n + j]);
      auto& way = from == to ? loads.inside : loads.outside;
      way[0][i] += sent;
      way[1][j] += sent;
      if (cluster.same_leaf(from, to)) continue;
      loads.past_spine[0][i] += sent;
      loads.past_spine[1][j] += sent;
    }
  }
  return loads;
}

// The loads of members that share something, by what they share.
template <typename Key>
std::vector<Load> shared(const Group& group, const std::vector<double>& loads, Key key) {
  std::map<decltype(key(0)), Load> by_key;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    Load& load = by_key[key(group.devices[i])];
    load.bytes += loads[i];
    load.of_a_device = std::max(load.of_a_device, loads[i]);
    load.members += 1;
  }
  std::vector<Load> found;
  for (const auto& [unused, load] : by_key) found.push_back(load);
  return found;
}

double inside_seconds(const Team& team, const std::vector<double>& loads) {
  const double busiest = *std::max_element(loads.begin(), loads.end());
  if (busiest == 0) return 0;
  return busiest / team.inside->collective.rate(team.inside_rate, busiest);
}

double nic_seconds(const Cluster& cluster, const Group& group, const std::vector<double>& loads) {
  const LinkUse& use = cluster.nic.collective;
  double slowest = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    slowest = std::max(slowest, loads[i] / use.rate(cluster.node.host.bytes_per_s, loads[i]));
  }
  const auto key = [&](std::int32_t device) {
    return std::pair(cluster.node_of(device), cluster.nics_of(device));
  };
  std::map<std::pair<std::int32_t, std::size_t>, std::int32_t> one;  // a device of each NIC group
  for (const std::int32_t device : group.devices) one.emplace(key(device), device);
  auto device = one.begin();
  for (const Load& load : shared(group, loads, key)) {
    const NicGroup& nics = cluster.nics[device->first.second];
    // Groups like this one load the NIC as much for each of their members.
    const double all =
        load.bytes / load.members *
        static_cast<double>(nic_users(cluster, group, group.devices, device->second));
    slowest =
        std::max(slowest, all / use.rate(cluster.nic.bytes_per_s * nics.nics, load.of_a_device));
    ++device;
  }
  return slowest;
}

double spine_seconds(const Cluster& cluster, const Group& group, const Loads& loads,
                     std::size_t direction) {
  const auto pod = [&](std::int32_t device) {
    return cluster.node_of(device) / cluster.fabric.nodes_per_leaf;
  };
  double busiest = 0;  // bytes that a device sends by its NICs
  for (const double sent : loads.outside[direction]) busiest = std::max(busiest, sent);
  double slowest = 0;
  for (const Load& load : shared(group, loads.past_spine[direction], pod)) {
    const double members = group.alone
                               ? load.members
                               : static_cast<double>(nodes_below(cluster) * cluster.node.devices);
    slowest = std::max(slowest, load.bytes / load.members * members /
                                    cluster.nic.collective.rate(spine_rate(cluster), busiest));
  }
  return slowest;
}

}  // namespace

Nanoseconds all_to_all_v(const Cluster& cluster, const Group& group,
                         std::span<const std::int64_t> bytes) {
  if (group.devices.size() == 1) return 0;
  const Team team = team_of(cluster, group);
  const Loads loads = loads_of(cluster, group, bytes);
  double seconds = 0;
  for (const std::size_t direction : {0, 1}) {
    seconds = std::max(seconds, inside_seconds(team, loads.inside[direction]));
    if (team.outside == nullptr) continue;
    seconds = std::max({seconds, nic_seconds(cluster, group, loads.outside[direction]),
                        spine_seconds(cluster, group, loads, direction)});
  }
  return rounded(pairwise_latency(team) + seconds * 1e9);
}

}  // namespace penstock
