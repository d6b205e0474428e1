#include "penstock/collective.h"

#include <algorithm>
#include <array>

#include "collectives/algorithms.h"
#include "collectives/team.h"

namespace penstock {
namespace {

bool has_in_switch(const Team& team) {
  return team.nodes == 1 && team.inside != nullptr && team.inside->in_switch.has_value();
}

bool has_hierarchy(const Team& team) {
  return team.nodes > 1 && team.most > 1 && team.fewest == team.most;
}

bool has_tree(const Team& team) {
  return team.outside != nullptr && team.outside->tree.has_value();
}

}  // namespace

std::string_view name(Collective collective) {
  constexpr std::array<std::string_view, kCollectives> kNames = {
      "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast"};
  return kNames[static_cast<std::size_t>(collective)];
}

std::string_view name(Algorithm algorithm) {
  constexpr std::array<std::string_view, 8> kNames = {
      "nothing", "ring", "tree", "in_switch", "hierarchical", "chain", "binomial", "pairwise"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::vector<CollectiveCost> collective_costs(const Cluster& cluster, const Group& group,
                                             Collective collective, std::int64_t bytes) {
  if (group.devices.size() == 1) return {{0, Algorithm::Nothing}};
  const Team team = team_of(cluster, group);
  const auto size = static_cast<double>(bytes);
  std::vector<CollectiveCost> costs;
  const auto add = [&](Algorithm algorithm, double time) {
    costs.push_back({rounded(time), algorithm});
  };
  if (collective == Collective::AllToAll) {
    add(Algorithm::Pairwise, pairwise_time(team, size));
  } else if (collective == Collective::Broadcast) {
    add(Algorithm::Chain, chain_time(team, size));
    add(Algorithm::Binomial, binomial_time(team, size));
  } else {
    const bool is_all_reduce = collective == Collective::AllReduce;
    add(Algorithm::Ring, ring_time(team, is_all_reduce ? 2 : 1, size));
    if (is_all_reduce && has_tree(team)) add(Algorithm::Tree, tree_time(team, size));
    if (is_all_reduce && has_in_switch(team)) add(Algorithm::InSwitch, in_switch_time(team, size));
    if (has_hierarchy(team)) {
      add(Algorithm::Hierarchical, hierarchical_time(team, collective, size));
    }
  }
  return costs;
}

CollectiveCost collective_cost(const Cluster& cluster, const Group& group, Collective collective,
                               std::int64_t bytes) {
  const std::vector<CollectiveCost> costs = collective_costs(cluster, group, collective, bytes);
  return *std::min_element(
      costs.begin(), costs.end(),
      [](const CollectiveCost& a, const CollectiveCost& b) { return a.time < b.time; });
}

double bus_bandwidth(Collective collective, std::int64_t devices, std::int64_t bytes,
                     Nanoseconds time) {
  const auto n = static_cast<double>(devices);
  double factor = (n - 1) / n;
  if (collective == Collective::AllReduce) factor *= 2;
  if (collective == Collective::Broadcast) factor = 1;
  return factor * static_cast<double>(bytes) / to_s(time);
}

}  // namespace penstock
