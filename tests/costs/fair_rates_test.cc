#include <map>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costs_testing.h"

namespace penstock {
namespace {

std::vector<double> gb_per_s(const Cluster& cluster, const std::vector<Flow>& flows) {
  std::vector<double> rates = fair_rates(cluster, flows);
  for (double& rate : rates) rate /= 1e9;
  return rates;
}

using Rates = std::vector<double>;

TEST(FairRates, GiveAFlowThatIsAloneItsPath) {
  EXPECT_EQ(gb_per_s(round_cluster(), {{0, 1}}), Rates{100});
  EXPECT_EQ(gb_per_s(round_cluster(), {{0, 4}}), Rates{10});
  EXPECT_EQ(gb_per_s(round_cluster(), {{2, 2}}), Rates{0});
  EXPECT_EQ(gb_per_s(round_cluster(), {}), Rates{});
}

TEST(FairRates, ShareANicAmongTheDevicesThatItServes) {
  const Cluster two = round_cluster(4, 4, 2);
  EXPECT_EQ(gb_per_s(two, {{0, 4}, {1, 5}, {2, 6}}), (Rates{5, 5, 10}));
  // Both directions of a NIC are its own.
  EXPECT_EQ(gb_per_s(two, {{0, 4}, {5, 1}}), (Rates{10, 10}));
}

// Two flows are held back on their way into device 4; the third takes what they leave of the NICs.
TEST(FairRates, GiveWhatOneFlowCannotUseToTheOthers) {
  Cluster cluster = round_cluster();
  cluster.nics.assign(1, {.devices = {0, 1, 2, 3}, .nics = 4});  // 40 GB/s together
  cluster.node.host.bytes_per_s = 20e9;                          // into a device
  EXPECT_EQ(gb_per_s(cluster, {{0, 4}, {1, 4}, {2, 8}}), (Rates{10, 10, 20}));
}

TEST(FairRates, ShareWhatAnOversubscribedLeafHas) {
  Cluster cluster = round_cluster(8);
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 4;  // 2 x 4 x 10 / 4 = 20 GB/s up
  std::vector<Flow> flows;
  for (std::int32_t d = 0; d < 8; ++d) flows.push_back({d, d + 8});
  EXPECT_EQ(gb_per_s(cluster, flows), Rates(8, 2.5));
  flows.resize(2);
  EXPECT_EQ(gb_per_s(cluster, flows), Rates(2, 10));
}

// The definition: nothing carries more than it can, and each flow passes something full on which no
// other flow is faster.
RC_GTEST_PROP(FairRates, AreMaxMinFair, ()) {
  const auto nics = *rc::gen::element(1, 2, 4);
  Cluster cluster = round_cluster(6, 4, nics);
  cluster.fabric.nodes_per_leaf = *rc::gen::element(1, 2, 3);
  cluster.fabric.oversubscription = *rc::gen::element(1, 4, 16);
  cluster.fabric.kind = *rc::gen::element(FabricKind::Leaf, FabricKind::Rail);
  std::vector<Flow> flows;
  const auto count = *rc::gen::inRange(1, 30);
  for (int i = 0; i < count; ++i) {
    flows.push_back({*rc::gen::inRange(0, 24), *rc::gen::inRange(0, 24)});
  }
  const std::vector<double> rates = fair_rates(cluster, flows);
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> users;
  std::map<std::pair<std::string, std::string>, double> capacity;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    for (const Hop& hop : path(cluster, flows[f].from, flows[f].to).hops) {
      users[{hop.from, hop.to}].push_back(f);
      capacity[{hop.from, hop.to}] = hop.bytes_per_s;
    }
  }
  std::vector<bool> held(flows.size(), false);
  for (const auto& [link, through] : users) {
    double sum = 0;
    double fastest = 0;
    for (const std::size_t f : through) {
      sum += rates[f];
      fastest = std::max(fastest, rates[f]);
    }
    RC_ASSERT(sum <= capacity[link] * (1 + 1e-9));
    if (sum < capacity[link] * (1 - 1e-9)) continue;
    for (const std::size_t f : through) held[f] = held[f] || rates[f] >= fastest * (1 - 1e-9);
  }
  for (std::size_t f = 0; f < flows.size(); ++f) {
    RC_ASSERT(held[f] || flows[f].from == flows[f].to);
  }
}

// 20,160 devices that all send to the next node: no graph of the whole cluster is built.
TEST(FairRates, OfTwentyThousandFlowsAreThereAtOnce) {
  Cluster cluster = shipped("h100-dgx");
  cluster.nodes = 2520;
  std::vector<Flow> flows;
  for (std::int32_t d = 0; d < cluster.devices(); ++d) {
    flows.push_back({d, (d + 8) % cluster.devices()});
  }
  const std::vector<double> rates = fair_rates(cluster, flows);
  EXPECT_EQ(rates, std::vector<double>(flows.size(), 50e9));
}

}  // namespace
}  // namespace penstock
