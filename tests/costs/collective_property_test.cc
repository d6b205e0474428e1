#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costs_testing.h"
#include "penstock/collective.h"

namespace penstock {
namespace {

Cluster arbitrary_cluster() {
  Cluster cluster = round_cluster(12, 4, *rc::gen::element(1, 2, 4));
  cluster.fabric.nodes_per_leaf = *rc::gen::element(1, 2, 3, 12);
  cluster.fabric.oversubscription = *rc::gen::element(1, 2, 8);
  cluster.node.device_link.collective.start = *rc::gen::inRange(0, 50'000);
  cluster.nic.collective.start = *rc::gen::inRange(0, 50'000);
  cluster.nic.collective.achieved = {{{1e6, 0.3}, {1e8, 0.9}}};
  if (*rc::gen::arbitrary<bool>()) cluster.nic.tree = cluster.nic.collective;
  return cluster;
}

Collective arbitrary_collective() {
  return static_cast<Collective>(*rc::gen::inRange(0, kCollectives));
}

// `per_node` devices of each of the first `nodes` nodes.
Group spread(const Cluster& cluster, std::int32_t nodes, std::int32_t per_node, bool alone) {
  Group group = {.alone = alone};
  for (std::int32_t node = 0; node < nodes; ++node) {
    for (std::int32_t i = 0; i < per_node; ++i) {
      group.devices.push_back(node * cluster.node.devices + i);
    }
  }
  return group;
}

RC_GTEST_PROP(Collectives, TakeNoLessForMoreBytes, ()) {
  Cluster cluster = arbitrary_cluster();
  if (*rc::gen::arbitrary<bool>()) {
    cluster.node.device_link.in_switch = cluster.node.device_link.collective;
  }
  const Group group = spread(cluster, *rc::gen::inRange(1, 13), *rc::gen::inRange(1, 5),
                             *rc::gen::arbitrary<bool>());
  const Collective collective = arbitrary_collective();
  Nanoseconds before = 0;
  for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 36; bytes = bytes * 3 / 2 + 1) {
    const Nanoseconds time = collective_cost(cluster, group, collective, bytes).time;
    RC_ASSERT(time >= before);
    before = time;
  }
}

// More members inside a node, or as many on more nodes. (On more devices of a node there are more
// NICs, and a switch that adds sends less: those may be faster.)
RC_GTEST_PROP(Collectives, TakeNoLessInALargerGroup, ()) {
  const Cluster cluster = arbitrary_cluster();
  const Collective collective = arbitrary_collective();
  const std::int64_t bytes = std::int64_t{1} << *rc::gen::inRange(0, 34);
  const bool alone = *rc::gen::arbitrary<bool>();
  Nanoseconds before = 0;
  for (std::int32_t n = 1; n <= 4; ++n) {
    const Nanoseconds time =
        collective_cost(cluster, spread(cluster, 1, n, alone), collective, bytes).time;
    RC_ASSERT(time >= before);
    before = time;
  }
  const auto per_node = *rc::gen::inRange(1, 5);
  before = 0;
  for (std::int32_t nodes = 1; nodes <= cluster.fabric.nodes_per_leaf; ++nodes) {
    const Nanoseconds time =
        collective_cost(cluster, spread(cluster, nodes, per_node, alone), collective, bytes).time;
    RC_ASSERT(time >= before);
    before = time;
  }
}

RC_GTEST_PROP(AllToAllV, OfEqualPartsIsAllToAll, ()) {
  const Cluster cluster = arbitrary_cluster();
  const auto pods = 12 / cluster.fabric.nodes_per_leaf;
  const auto nodes = cluster.fabric.nodes_per_leaf * *rc::gen::inRange(1, pods + 1);
  const auto per_node = cluster.nics.size() == 4 ? *rc::gen::inRange(1, 5) : 4;
  const Group group = spread(cluster, nodes, per_node, *rc::gen::arbitrary<bool>());
  const std::size_t n = group.devices.size();
  const std::int64_t each = *rc::gen::inRange(0, 100'000'000);
  const Nanoseconds equal =
      collective_cost(cluster, group, Collective::AllToAll, each * static_cast<std::int64_t>(n))
          .time;
  const Nanoseconds parts = all_to_all_v(cluster, group, std::vector<std::int64_t>(n * n, each));
  RC_ASSERT(std::abs(equal - parts) <= 1 + equal / 1'000'000'000);
}

// All devices send to the next node, one flow each: what message_cost gives each is the max-min
// fair share.
RC_GTEST_PROP(MessageCost, IsTheFairShareWhenAllSend, ()) {
  Cluster cluster = arbitrary_cluster();
  const auto apart = cluster.fabric.nodes_per_leaf;  // nodes: every flow leaves its pod
  cluster.fabric.kind = *rc::gen::element(FabricKind::Leaf, FabricKind::Rail);
  std::vector<Flow> flows;
  for (std::int32_t d = 0; d < cluster.devices(); ++d) {
    flows.push_back({d, (d + apart * cluster.node.devices) % cluster.devices()});
  }
  const std::vector<double> rates = fair_rates(cluster, flows);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const double given = message_cost(cluster, flows[f].from, flows[f].to, 1 << 20).bytes_per_s;
    RC_ASSERT(flows[f].from == flows[f].to || std::abs(given / rates[f] - 1) < 1e-9);
  }
}

}  // namespace
}  // namespace penstock
