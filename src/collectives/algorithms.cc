#include "collectives/algorithms.h"

#include <algorithm>
#include <bit>

namespace penstock {
namespace {

double ceil_log2(std::int64_t number) {
  return std::bit_width(static_cast<std::uint64_t>(number - 1));
}

double start(const Team& team, const LinkUse& outside) {
  const Nanoseconds in = team.inside != nullptr ? team.inside->collective.start : 0;
  const Nanoseconds out = team.outside != nullptr ? outside.start : 0;
  return static_cast<double>(std::max(in, out));
}

// The steps of an algorithm that passes every device once, through each node's members in turn.
double steps(const Team& team) {
  double time = 0;
  if (team.inside != nullptr) {
    time += static_cast<double>((team.devices - team.nodes) * team.inside->collective.step);
  }
  if (team.outside != nullptr) {
    time += static_cast<double>((team.nodes - 1) * team.outside->collective.step);
  }
  return time;
}

// `bytes` through every device, and through every node's NICs, at the same time.
double transfer(const Team& team, double bytes, const LinkUse* outside) {
  double seconds = 0;
  if (team.inside != nullptr) {
    seconds = bytes / team.inside->collective.rate(team.inside_rate, bytes);
  }
  if (outside != nullptr) {
    const double of_a_nic = bytes / static_cast<double>(team.fewest);
    seconds = std::max(seconds, bytes / outside->rate(team.ring.node_rate, of_a_nic));
  }
  return seconds * 1e9;
}

const LinkUse* outside_use(const Team& team) {
  return team.outside != nullptr ? &team.outside->collective : nullptr;
}

double outside_start(const Team& team) {
  return team.outside != nullptr ? start(team, team.outside->collective) : start(team, {});
}

}  // namespace

double ring_time(const Team& team, int rounds, double bytes) {
  const auto n = static_cast<double>(team.devices);
  return outside_start(team) + rounds * steps(team) +
         transfer(team, rounds * bytes * (n - 1) / n, outside_use(team));
}

double tree_time(const Team& team, double bytes) {
  const LinkUse& tree = *team.outside->tree;
  const double chain = team.inside != nullptr
                           ? static_cast<double>((team.most - 1) * team.inside->collective.step)
                           : 0;
  return start(team, tree) + 2 * chain +
         2 * ceil_log2(team.nodes) * static_cast<double>(tree.step) +
         transfer(team, 2 * bytes, &tree);
}

double in_switch_time(const Team& team, double bytes) {
  const LinkUse& use = *team.inside->in_switch;
  const auto n = static_cast<double>(team.devices);
  const double sent = bytes * (n + 1) / n;
  return static_cast<double>(use.start + 2 * use.step) +
         sent / use.rate(team.inside_rate, sent) * 1e9;
}

double hierarchical_time(const Team& team, Collective collective, double bytes) {
  Team inner = team;
  inner.devices = team.most;
  inner.nodes = 1;
  inner.outside = nullptr;
  Team outer = team;
  outer.devices = team.nodes;
  outer.fewest = outer.most = 1;
  outer.inside = nullptr;
  outer.ring.node_rate = team.ring.device_rate;
  const bool is_all_reduce = collective == Collective::AllReduce;
  const double share = bytes / static_cast<double>(team.most);
  return (is_all_reduce ? 2 : 1) * ring_time(inner, 1, bytes) +
         ring_time(outer, is_all_reduce ? 2 : 1, share);
}

double chain_time(const Team& team, double bytes) {
  return outside_start(team) + steps(team) + transfer(team, bytes, outside_use(team));
}

double binomial_time(const Team& team, double bytes) {
  const bool crosses = team.outside != nullptr;
  const LinkUse& use = crosses ? team.outside->collective : team.inside->collective;
  const double rate = crosses ? team.ring.device_rate : team.inside_rate;
  return outside_start(team) + ceil_log2(team.devices) * (static_cast<double>(use.step) +
                                                          bytes / use.rate(rate, bytes) * 1e9);
}

double pairwise_latency(const Team& team) {
  Nanoseconds slowest = 0;
  if (team.inside != nullptr) slowest = (team.most - 1) * team.inside->collective.step;
  if (team.outside != nullptr) {
    slowest = std::max(slowest, (team.devices - team.fewest) * team.outside->collective.step);
  }
  return outside_start(team) + static_cast<double>(slowest);
}

double pairwise_time(const Team& team, double bytes) {
  const double each = bytes / static_cast<double>(team.devices);
  double seconds = 0;
  if (team.inside != nullptr) {
    const double sent = each * static_cast<double>(team.most - 1);
    seconds = sent / team.inside->collective.rate(team.inside_rate, sent);
  }
  if (team.outside != nullptr) {
    const double sent = each * static_cast<double>(team.devices - team.fewest);
    seconds =
        std::max(seconds, sent / team.outside->collective.rate(team.everywhere.device_rate, sent));
  }
  return pairwise_latency(team) + seconds * 1e9;
}

}  // namespace penstock
