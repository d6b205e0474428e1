#include <gtest/gtest.h>

#include "costs_testing.h"

namespace penstock {
namespace {

std::string way(const Cluster& cluster, std::int32_t from, std::int32_t to) {
  std::string text;
  for (const Hop& hop : path(cluster, from, to).hops) {
    text += text.empty() ? hop.from + " > " + hop.to : " > " + hop.to;
  }
  return text;
}

TEST(Path, GoesThroughTheSwitchInsideANode) {
  const Path found = path(round_cluster(), 1, 2);
  EXPECT_EQ(way(round_cluster(), 1, 2), "device 1 > switch of node 0 > device 2");
  EXPECT_EQ(found.bytes_per_s, 100e9);
  EXPECT_EQ(found.latency, 1000);
}

TEST(Path, GoesThroughTheHostWhereNothingElseJoinsTheDevices) {
  Cluster cluster = round_cluster();
  cluster.node.wiring = Wiring::Host;
  EXPECT_EQ(way(cluster, 5, 6), "device 5 > host of node 1 > device 6");
  EXPECT_EQ(path(cluster, 5, 6).bytes_per_s, 50e9);
  EXPECT_EQ(path(cluster, 5, 6).latency, 2 * 500);
}

TEST(Path, GoesThroughTheNicsBetweenNodesAndPastTheSpineBetweenLeaves) {
  Cluster cluster = round_cluster();
  EXPECT_EQ(way(cluster, 0, 4), "device 0 > nic 0 of node 0 > leaf 0 > nic 0 of node 1 > device 4");
  EXPECT_EQ(path(cluster, 0, 4).bytes_per_s, 10e9);
  EXPECT_EQ(path(cluster, 0, 4).latency, 2 * 2000);
  cluster.fabric.nodes_per_leaf = 2;
  EXPECT_EQ(way(cluster, 0, 8),
            "device 0 > nic 0 of node 0 > leaf 0 > spine > leaf 1 > nic 0 of node 2 > device 8");
  EXPECT_EQ(path(cluster, 0, 8).latency, 2 * 2000 + 2 * 700);
  cluster.fabric.oversubscription = 16;  // 2 nodes x 4 NICs x 10 GB/s below, a 16th of it above
  EXPECT_EQ(path(cluster, 0, 8).bytes_per_s, 5e9);
}

TEST(Path, ChangesRailsInsideTheNode) {
  Cluster cluster = round_cluster();
  cluster.fabric.kind = FabricKind::Rail;
  cluster.fabric.spine_latency = 5000;
  EXPECT_EQ(way(cluster, 0, 4),
            "device 0 > nic 0 of node 0 > leaf 0 of pod 0 > nic 0 of node 1 > device 4");
  const std::string across = way(cluster, 0, 5);
  EXPECT_EQ(across.find("spine"), std::string::npos) << across;
  EXPECT_NE(across.find("switch"), std::string::npos) << across;
}

TEST(Path, IsEmptyToItself) {
  const Path none = path(round_cluster(), 3, 3);
  EXPECT_TRUE(none.hops.empty());
  EXPECT_EQ(none.latency, 0);
  EXPECT_EQ(none.bytes_per_s, 0);
}

// DGX-1V and p3.16xlarge: one or two links between neighbours, and between the halves a relay.
TEST(Path, OfTheCubeMeshPassesADeviceWhereNoWireJoinsTwo) {
  const Cluster cluster = shipped("v100-p3.16xlarge");
  EXPECT_EQ(path(cluster, 0, 1).bytes_per_s, 25e9);
  EXPECT_EQ(path(cluster, 0, 3).bytes_per_s, 50e9);
  EXPECT_EQ(path(cluster, 0, 4).hops.size(), 1u);
  EXPECT_EQ(path(cluster, 0, 7).hops.size(), 2u);  // over 3 or 4, never over the host
  EXPECT_EQ(path(cluster, 0, 7).bytes_per_s, 50e9);
}

TEST(Path, IsAsLongBackAsThere) {
  for (const std::string name : {"v100-p3.16xlarge", "a100-sxm-80-hdr", "gb200-nvl72"}) {
    const Cluster cluster = shipped(name);
    for (const std::int32_t to : {1, 5, 7, 8, 77, cluster.devices() - 1}) {
      EXPECT_EQ(path(cluster, 0, to).latency, path(cluster, to, 0).latency) << name << " " << to;
      EXPECT_EQ(path(cluster, 0, to).bytes_per_s, path(cluster, to, 0).bytes_per_s) << name;
    }
  }
}

// RoCE and InfiniBand end to end, below one leaf and across: "Insights into DeepSeek-V3", table 5.
TEST(Path, HasThePublishedLatencyFromEndToEnd) {
  const Cluster h100 = shipped("h100-dgx");
  EXPECT_EQ(path(h100, 0, 8).latency, 2800);
  EXPECT_EQ(path(h100, 0, 8 * 32).latency, 3700);
  EXPECT_EQ(path(h100, 0, 1).latency, 3330);
  EXPECT_EQ(path(shipped("b200-hgx"), 0, 8).latency, 3600);
  EXPECT_EQ(path(shipped("b200-hgx"), 0, 8 * 32).latency, 5600);
}

}  // namespace
}  // namespace penstock
