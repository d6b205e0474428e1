// Collectives against published measurements: tests/data/clusters/README.md says which, how well
// they have to be met, and why.
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "../formats/testing_files.h"
#include "costs_testing.h"
#include "penstock/collective.h"

namespace penstock {
namespace {

struct Row {
  std::string set;
  std::string cluster;
  std::int32_t nodes;
  std::int32_t per_node;
  std::string collective;
  std::string algorithm;
  std::int64_t bytes;
  double time_us;
  double host_us;
  bool calibrated;
};

std::vector<Row> rows() {
  std::istringstream lines(data_file("clusters/collectives.csv"));
  std::string line;
  std::getline(lines, line);
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::vector<std::string> cell;
    for (std::string text; std::getline(cells, text, ',');) cell.push_back(text);
    rows.push_back({cell.at(0), cell.at(1), std::stoi(cell.at(2)), std::stoi(cell.at(3)),
                    cell.at(4), cell.at(5), std::stoll(cell.at(6)), std::stod(cell.at(7)),
                    std::stod(cell.at(8)), cell.at(9) == "calibrated"});
  }
  return rows;
}

Collective collective_of(const std::string& text) {
  for (int i = 0; i < kCollectives; ++i) {
    if (name(static_cast<Collective>(i)) == text) return static_cast<Collective>(i);
  }
  throw std::runtime_error("no collective " + text);
}

double predicted_us(const Row& row) {
  Group group = {.alone = true};
  const Cluster cluster = shipped(row.cluster);
  for (std::int32_t node = 0; node < row.nodes; ++node) {
    for (std::int32_t i = 0; i < row.per_node; ++i) {
      group.devices.push_back(node * cluster.node.devices + i);
    }
  }
  const Collective collective = collective_of(row.collective);
  if (row.algorithm == "best") {
    return to_ms(collective_cost(cluster, group, collective, row.bytes).time) * 1e3 + row.host_us;
  }
  for (const CollectiveCost& cost : collective_costs(cluster, group, collective, row.bytes)) {
    if (name(cost.algorithm) == row.algorithm) return to_ms(cost.time) * 1e3 + row.host_us;
  }
  throw std::runtime_error("no algorithm " + row.algorithm);
}

double tolerance(const Row& row) {
  if (row.set == "vtrain_v100") return row.bytes < 64 << 20 ? 0.35 : 0.06;
  const std::map<std::string, double> by_set = {
      {"vtrain_a100", 0.25},        {"sweep_a100", 0.30},   {"sweep_h200", 0.20},
      {"plateau_h200", 0.03},       {"sweep_b200", 0.15},   {"sweep_b200_4_nodes", 0.20},
      {"older_b200_4_nodes", 0.25}, {"plateau_gb200", 0.05}};
  return by_set.at(row.set);
}

TEST(MeasuredCollectives, AreMetWithinWhatTheirSpreadAllows) {
  for (const Row& row : rows()) {
    const double ratio = predicted_us(row) / row.time_us;
    EXPECT_LE(std::abs(ratio - 1), tolerance(row))
        << row.set << " " << row.nodes << " x " << row.per_node << " " << row.collective << " "
        << row.bytes << " bytes: " << predicted_us(row) << " us, measured " << row.time_us;
  }
}

// What the shipped numbers were not made from is met as well on the whole.
TEST(MeasuredCollectives, AreMetInTheMiddleOnRowsThatWereKeptBack) {
  std::vector<double> errors;
  for (const Row& row : rows()) {
    if (!row.calibrated) errors.push_back(std::abs(predicted_us(row) / row.time_us - 1));
  }
  ASSERT_GT(errors.size(), 30u);
  std::nth_element(errors.begin(), errors.begin() + errors.size() / 2, errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.08);
}

// DeepEP (deepseek-ai/DeepEP README, normal kernels) on H800, whose NVLink has 200 GB/s per
// direction: 153 and 158 GB/s within a node (dispatch, combine), 43 to 47 GB/s over the NICs for 16
// to 64 devices.
TEST(MeasuredAllToAll, IsDeepEps) {
  Cluster h800 = shipped("h100-dgx");
  h800.node.device_link.bytes_per_s = 200e9;
  for (const std::int32_t devices : {8, 16, 32, 64}) {
    Group group;
    for (std::int32_t d = 0; d < devices; ++d) group.devices.push_back(d);
    constexpr std::int64_t kBytes = std::int64_t{4} << 30;
    const double time = to_s(collective_cost(h800, group, Collective::AllToAll, kBytes).time);
    const double part = devices == 8 ? 7.0 / 8 : (devices - 8.0) / devices;
    const double gb_per_s = part * static_cast<double>(kBytes) / time / 1e9;
    const double measured = devices == 8 ? (153 + 158) / 2.0 : 45;
    EXPECT_NEAR(gb_per_s / measured, 1, 0.07) << devices;
  }
}

// Hetu-Galvatron's default profile, hardware not named: 16 devices on two nodes reach 44.7 GB/s,
// which is a node with 400 Gb/s. Groups of one device per node, eight at once, share that.
TEST(MeasuredAllReduce, OverTwoNodesIsWhatTheNicsTogetherCarry) {
  Cluster cluster = shipped("a100-sxm-80-hdr");
  cluster.nic.bytes_per_s = 12.5e9;
  cluster.nics = {{{0, 1}, 1}, {{2, 3}, 1}, {{4, 5}, 1}, {{6, 7}, 1}};
  constexpr std::int64_t kBytes = 1 << 30;
  const auto bus = [&](const std::vector<std::int32_t>& devices) {
    for (const CollectiveCost& cost :
         collective_costs(cluster, {.devices = devices}, Collective::AllReduce, kBytes)) {
      if (cost.algorithm != Algorithm::Ring) continue;
      return bus_bandwidth(Collective::AllReduce, std::ssize(devices), kBytes, cost.time) / 1e9;
    }
    return 0.0;
  };
  EXPECT_NEAR(bus({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) / 44.7, 1, 0.05);
  EXPECT_NEAR(bus({0, 8}) * 8, bus({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}), 1);
}

// p2pBandwidthLatencyTest and pairwise copies, stas00/ml-engineering; zero-bubble, arXiv
// 2401.10241: 28 MB in 0.60 ms within a node, launch and waiting included, so no less than ours.
TEST(MeasuredMessages, AreMet) {
  const auto gb_per_s = [](const std::string& name) {
    return message_cost(shipped(name), 0, 1, 1 << 30).bytes_per_s / 1e9;
  };
  EXPECT_NEAR(gb_per_s("a100-sxm-80-hdr"), 274, 1);
  EXPECT_NEAR(gb_per_s("h100-dgx"), 376, 1);
  EXPECT_NEAR(gb_per_s("h200"), 396.4, 1);
  const MessageCost cost = message_cost(shipped("a100-sxm-80-hdr"), 0, 1, 28'000'000);
  EXPECT_LT(to_ms(cost.latency + cost.occupancy(cost.bytes)), 0.60);
}

}  // namespace
}  // namespace penstock
