// Closed forms, to the nanosecond, on a cluster of round numbers: 100 GB/s and 1 us a step inside a
// node, 10 GB/s and 5 us a step for each NIC.
#include "penstock/collective.h"

#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costs_testing.h"

namespace penstock {
namespace {

Group first(std::int32_t devices) {
  Group group;
  group.devices.resize(static_cast<std::size_t>(devices));
  std::iota(group.devices.begin(), group.devices.end(), 0);
  return group;
}

// Nanoseconds by algorithm.
std::map<Algorithm, Nanoseconds> costs(const Cluster& cluster, const Group& group,
                                       Collective collective, std::int64_t bytes) {
  std::map<Algorithm, Nanoseconds> found;
  for (const CollectiveCost& cost : collective_costs(cluster, group, collective, bytes)) {
    found[cost.algorithm] = cost.time;
  }
  return found;
}

using Costs = std::map<Algorithm, Nanoseconds>;

TEST(Collectives, TakeNoTimeAlone) {
  for (int i = 0; i < kCollectives; ++i) {
    EXPECT_EQ(collective_cost(round_cluster(), first(1), static_cast<Collective>(i), 1 << 30),
              (CollectiveCost{0, Algorithm::Nothing}));
  }
}

TEST(Collectives, OfANodeAreRings) {
  const Cluster cluster = round_cluster();
  EXPECT_EQ(costs(cluster, first(4), Collective::AllGather, 4'000'000),
            (Costs{{Algorithm::Ring, 3'000 + 30'000}}));
  EXPECT_EQ(costs(cluster, first(4), Collective::ReduceScatter, 4'000'000),
            (Costs{{Algorithm::Ring, 3'000 + 30'000}}));
  EXPECT_EQ(costs(cluster, first(4), Collective::AllReduce, 4'000'000),
            (Costs{{Algorithm::Ring, 6'000 + 60'000}}));
  EXPECT_EQ(costs(cluster, first(2), Collective::AllReduce, 0), (Costs{{Algorithm::Ring, 2'000}}));
}

TEST(Collectives, StartOnce) {
  Cluster cluster = round_cluster();
  cluster.node.device_link.collective.start = 700;
  cluster.nic.collective.start = 900;
  EXPECT_EQ(costs(cluster, first(4), Collective::AllGather, 0).at(Algorithm::Ring), 3'700);
  EXPECT_EQ(costs(cluster, first(8), Collective::AllGather, 0).at(Algorithm::Ring),
            900 + 6 * 1'000 + 5'000);
  EXPECT_EQ(costs(cluster, {.devices = {0, 4}}, Collective::AllGather, 0).at(Algorithm::Ring),
            900 + 5'000);
}

TEST(AllReduce, OverNodesGoesAllAtOnceOrByLevels) {
  Cluster cluster = round_cluster();
  // 14 MB through each device at 100 GB/s, and through each node's four NICs at 40.
  Costs expected = {{Algorithm::Ring, 2 * (6 * 1'000 + 5'000) + 350'000},
                    {Algorithm::Hierarchical, 2 * (3'000 + 60'000) + 2 * 5'000 + 200'000}};
  EXPECT_EQ(costs(cluster, first(8), Collective::AllReduce, 8'000'000), expected);
  cluster.nic.tree = cluster.nic.collective;
  cluster.nic.tree->step = 4'000;
  expected[Algorithm::Tree] = 2 * 3 * 1'000 + 2 * 4'000 + 400'000;
  EXPECT_EQ(costs(cluster, first(8), Collective::AllReduce, 8'000'000), expected);
  EXPECT_EQ(collective_cost(cluster, first(8), Collective::AllReduce, 8'000'000),
            (CollectiveCost{336'000, Algorithm::Hierarchical}));
  EXPECT_EQ(collective_cost(cluster, first(8), Collective::AllReduce, 0).algorithm,
            Algorithm::Tree);
}

TEST(AllReduce, OfOneDevicePerNodeSharesNothingUnlessNicsAreShared) {
  const Group group = {.devices = {0, 4, 8, 12}};
  const Nanoseconds own = 2 * 3 * 5'000 + 600'000;  // 6 MB at 10 GB/s
  EXPECT_EQ(costs(round_cluster(), group, Collective::AllReduce, 4'000'000),
            (Costs{{Algorithm::Ring, own}}));
  EXPECT_EQ(costs(round_cluster(4, 4, 2), group, Collective::AllReduce, 4'000'000),
            (Costs{{Algorithm::Ring, own + 600'000}}));
  EXPECT_EQ(costs(round_cluster(4, 4, 2), {.devices = group.devices, .alone = true},
                  Collective::AllReduce, 4'000'000),
            (Costs{{Algorithm::Ring, own}}));
}

TEST(AllReduce, InTheSwitchSendsEveryByteOnceAndAPartBack) {
  Cluster cluster = round_cluster();
  cluster.node.device_link.in_switch = cluster.node.device_link.collective;
  EXPECT_EQ(costs(cluster, first(4), Collective::AllReduce, 4'000'000).at(Algorithm::InSwitch),
            2'000 + 50'000);
  EXPECT_EQ(collective_cost(cluster, first(4), Collective::AllReduce, 4'000'000).algorithm,
            Algorithm::InSwitch);
  // Of two devices each would send its half twice: the ring is better.
  EXPECT_EQ(collective_cost(cluster, first(2), Collective::AllReduce, 4'000'000).algorithm,
            Algorithm::Ring);
  EXPECT_EQ(costs(cluster, first(4), Collective::AllGather, 1).count(Algorithm::InSwitch), 0u);
  EXPECT_EQ(costs(cluster, first(8), Collective::AllReduce, 1).count(Algorithm::InSwitch), 0u);
}

TEST(Broadcast, IsAChainOfPiecesOrATree) {
  EXPECT_EQ(costs(round_cluster(), first(4), Collective::Broadcast, 4'000'000),
            (Costs{{Algorithm::Chain, 3'000 + 40'000}, {Algorithm::Binomial, 2 * 41'000}}));
  EXPECT_EQ(collective_cost(round_cluster(), first(4), Collective::Broadcast, 0),
            (CollectiveCost{2'000, Algorithm::Binomial}));
}

TEST(AllToAll, IsBoundByWhatLeavesTheNode) {
  EXPECT_EQ(collective_cost(round_cluster(), first(4), Collective::AllToAll, 4'000'000).time,
            3'000 + 30'000);
  EXPECT_EQ(collective_cost(round_cluster(), first(8), Collective::AllToAll, 8'000'000).time,
            4 * 5'000 + 400'000);
  EXPECT_EQ(collective_cost(round_cluster(4, 4, 2), first(8), Collective::AllToAll, 8'000'000).time,
            4 * 5'000 + 800'000);
}

TEST(AllToAllV, IsBoundByTheBusiest) {
  const Cluster cluster = round_cluster(4, 4, 2);
  // Devices 0 and 1, on one NIC, send 1 MB and 3 MB to the other node, in groups like this one.
  std::vector<std::int64_t> bytes(64, 0);
  bytes[0 * 8 + 4] = 1'000'000;
  bytes[1 * 8 + 6] = 3'000'000;
  EXPECT_EQ(all_to_all_v(cluster, first(8), bytes), 4 * 5'000 + 400'000);
  bytes[2 * 8 + 6] = 5'000'000;  // out of another NIC, into one that now takes 8 MB
  EXPECT_EQ(all_to_all_v(cluster, first(8), bytes), 4 * 5'000 + 800'000);
  bytes[0 * 8 + 1] = 90'000'000;  // and 0.9 ms inside
  EXPECT_EQ(all_to_all_v(cluster, first(8), bytes), 4 * 5'000 + 900'000);
  EXPECT_EQ(all_to_all_v(cluster, first(1), std::vector<std::int64_t>{7}), 0);
}

TEST(MessageCost, IsThePathsAndTheNarrowestLinks) {
  Cluster cluster = round_cluster(4, 4, 2);
  cluster.nic.message.start = 8'000;
  cluster.node.host.message.start = 3'000;
  EXPECT_EQ(message_cost(cluster, 0, 1, 77),
            (MessageCost{.bytes = 77, .latency = 1'000, .bytes_per_s = 100e9}));
  EXPECT_EQ(message_cost(cluster, 0, 4, 77, true),
            (MessageCost{.bytes = 77, .latency = 8'000 + 4'000, .bytes_per_s = 10e9}));
  EXPECT_EQ(message_cost(cluster, 0, 4, 77).bytes_per_s, 5e9);
  EXPECT_EQ(message_cost(cluster, 5, 5, 77), (MessageCost{.bytes = 77}));
  cluster.nic.message.achieved = {{{.size = 1, .fraction = 0.4}}};
  EXPECT_EQ(message_cost(cluster, 0, 4, 77, true).bytes_per_s, 4e9);
}

TEST(BusBandwidth, IsNccls) {
  EXPECT_DOUBLE_EQ(bus_bandwidth(Collective::AllReduce, 8, 1'000'000, 1'000'000), 1.75e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(Collective::AllGather, 8, 1'000'000, 1'000'000), 0.875e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(Collective::Broadcast, 8, 1'000'000, 1'000'000), 1e9);
}

TEST(Collectives, OfTwentyThousandDevicesAreThereAtOnce) {
  const Cluster cluster = round_cluster(5'000);
  for (const bool alone : {false, true}) {
    Group group = first(20'000);
    group.alone = alone;
    // 19,999 of 20,000 parts of 8 GB through the 40 GB/s of each node.
    EXPECT_EQ(costs(cluster, group, Collective::AllGather, 8'000'000'000).at(Algorithm::Ring),
              15'000 * 1'000 + 4'999 * 5'000 + 199'990'000);
  }
}

// The wires of the cube mesh between the members, least of any: 1, 4 and 6 links of 25 GB/s.
TEST(Collectives, OfACubeMeshUseTheWiresBetweenTheMembers) {
  Cluster cluster = shipped("v100-p3.16xlarge");
  cluster.node.device_link.collective = {.achieved = {{{.size = 1, .fraction = 1}}}};
  const std::map<std::int32_t, double> links = {{2, 1}, {4, 4}, {8, 6}};
  for (const auto& [n, number] : links) {
    const Nanoseconds time =
        collective_cost(cluster, first(n), Collective::AllGather, 1 << 30).time;
    EXPECT_NEAR(bus_bandwidth(Collective::AllGather, n, 1 << 30, time) / 25e9, number, 1e-6) << n;
  }
  // No wire joins 0 and 7: over the host.
  const Nanoseconds host =
      collective_cost(cluster, {.devices = {0, 7}}, Collective::AllGather, 1 << 30).time;
  EXPECT_LT(bus_bandwidth(Collective::AllGather, 2, 1 << 30, host), 16e9);
}

}  // namespace
}  // namespace penstock
