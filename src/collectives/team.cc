#include "collectives/team.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace penstock {
namespace {

using Members = std::map<std::int32_t, std::vector<std::int32_t>>;  // by node

Members members_by_node(const Cluster& cluster, const Group& group) {
  Members members;
  for (const std::int32_t device : group.devices) {
    members[cluster.node_of(device)].push_back(device);
  }
  return members;
}

// What the wires of a device to the others of `members` carry together.
double wired_rate(const Cluster& cluster, const std::vector<std::int32_t>& members,
                  std::int32_t device) {
  const auto has = [&](std::int32_t local) {
    const std::int32_t other = device - device % cluster.node.devices + local;
    return std::find(members.begin(), members.end(), other) != members.end();
  };
  const std::int32_t self = device % cluster.node.devices;
  double rate = 0;
  for (const Wire& wire : cluster.node.wires) {
    const bool ours = (wire.a == self && has(wire.b)) || (wire.b == self && has(wire.a));
    if (ours) rate += cluster.node.device_link.bytes_per_s * wire.links;
  }
  return rate;
}

void set_inside(const Cluster& cluster, const Members& members, Team& team) {
  if (team.most == 1) return;
  const Node& node = cluster.node;
  team.inside = node.wiring == Wiring::Host ? &node.host : &node.device_link;
  team.inside_rate = team.inside->bytes_per_s;
  if (node.wiring != Wiring::Pairs) return;
  double rate = INFINITY;
  for (const auto& [unused, devices] : members) {
    for (const std::int32_t device : devices) {
      if (devices.size() > 1) rate = std::min(rate, wired_rate(cluster, devices, device));
    }
  }
  // A device that no wire joins to the others: all go over the host.
  team.inside = rate > 0 ? team.inside : &node.host;
  team.inside_rate = rate > 0 ? rate : node.host.bytes_per_s;
}

// How much of the rates is left where `crossing` of what leaves a node goes past the spine, and
// all that the group's members below the busiest pod send is `sent`.
double left_past_spine(const Cluster& cluster, const Group& group, double crossing, double sent) {
  if (crossing == 0) return 1;
  double all = sent;
  if (!group.alone) {
    all = 0;
    for (const NicGroup& nics : cluster.nics) all += cluster.nic.bytes_per_s * nics.nics;
    all *= static_cast<double>(nodes_below(cluster));
  }
  return std::min(1.0, spine_rate(cluster) / (crossing * all));
}

struct Crossing {
  double ring = 0;     // of the hops from node to node
  double all = 0;      // of what a device sends off its node
  double devices = 0;  // the most members below one pod
};

Crossing crossing_of(const Cluster& cluster, const Members& members, std::int64_t devices) {
  Crossing crossing;
  std::map<std::int32_t, double> below;  // members by pod
  double hops = 0;
  std::int32_t before = members.rbegin()->first;
  for (const auto& [node, own] : members) {
    below[node / cluster.fabric.nodes_per_leaf] += static_cast<double>(own.size());
    hops += cluster.same_leaf(before, node) ? 0 : 1;
    before = node;
  }
  crossing.ring = hops / static_cast<double>(members.size());
  const auto all = static_cast<double>(devices);
  for (const auto& [node, own] : members) {
    const double pod = below[node / cluster.fabric.nodes_per_leaf];
    crossing.all = std::max(crossing.all, (all - pod) / (all - static_cast<double>(own.size())));
    crossing.devices = std::max(crossing.devices, pod);
  }
  return crossing;
}

void set_outside(const Cluster& cluster, const Group& group, const Members& members, Team& team) {
  if (team.nodes == 1) return;
  team.outside = &cluster.nic;
  WayOut way = {INFINITY, INFINITY};
  for (const auto& [unused, devices] : members) {
    double node = 0;
    for (const std::int32_t device : devices) {
      const NicGroup& nics = cluster.nics[cluster.nics_of(device)];
      const double share = cluster.nic.bytes_per_s * nics.nics /
                           static_cast<double>(nic_users(cluster, group, devices, device));
      const double rate = std::min(share, cluster.node.host.bytes_per_s);
      way.device_rate = std::min(way.device_rate, rate);
      node += rate;
    }
    way.node_rate = std::min(way.node_rate, node);
  }
  const Crossing crossing = crossing_of(cluster, members, team.devices);
  const double sent = crossing.devices * way.device_rate;
  const double ring = left_past_spine(cluster, group, crossing.ring, sent);
  const double all = left_past_spine(cluster, group, crossing.all, sent);
  team.ring = {way.device_rate * ring, way.node_rate * ring};
  team.everywhere = {way.device_rate * all, way.node_rate * all};
}

}  // namespace

Team team_of(const Cluster& cluster, const Group& group) {
  const Members members = members_by_node(cluster, group);
  Team team;
  team.devices = static_cast<std::int64_t>(group.devices.size());
  team.nodes = static_cast<std::int64_t>(members.size());
  team.fewest = team.devices;
  for (const auto& [unused, devices] : members) {
    team.fewest = std::min(team.fewest, static_cast<std::int64_t>(devices.size()));
    team.most = std::max(team.most, static_cast<std::int64_t>(devices.size()));
  }
  set_inside(cluster, members, team);
  set_outside(cluster, group, members, team);
  return team;
}

std::int64_t nic_users(const Cluster& cluster, const Group& group,
                       std::span<const std::int32_t> members, std::int32_t device) {
  const std::size_t nics = cluster.nics_of(device);
  if (!group.alone) return std::ssize(cluster.nics[nics].devices);
  return std::count_if(members.begin(), members.end(), [&](std::int32_t other) {
    return cluster.node_of(other) == cluster.node_of(device) && cluster.nics_of(other) == nics;
  });
}

std::int64_t nodes_below(const Cluster& cluster) {
  return std::min(cluster.fabric.nodes_per_leaf, cluster.nodes);
}

double spine_rate(const Cluster& cluster) {
  double node = 0;
  for (const NicGroup& nics : cluster.nics) node += cluster.nic.bytes_per_s * nics.nics;
  return node * static_cast<double>(nodes_below(cluster)) / cluster.fabric.oversubscription;
}

Nanoseconds rounded(double nanoseconds) {
  return static_cast<Nanoseconds>(std::llround(std::min(nanoseconds, kLongestMs * 1e6)));
}

}  // namespace penstock
