// An independent engine agrees: SimGrid (Casanova et al., JPDC 74(10), 2014), where Debian's
// libsimgrid-dev is there.
#include <gtest/gtest.h>

#include "../scenarios.h"
#include "simgrid_run.h"

namespace penstock {
namespace {

constexpr double kAgrees = 1e-6;  // relative

struct Case {
  std::string name;
  GenerateOptions sizes;
  std::string costs;
  double nic_bytes_per_s = 0;        // of each node; 0: nothing is shared
  std::int32_t actors_per_node = 1;  // that share it
};

// What leaves a node, and what enters it, passes its NIC.
std::vector<SharedLink> nics(const Case& each) {
  std::vector<SharedLink> links;
  if (each.nic_bytes_per_s == 0) return links;
  const auto node = [&](std::int32_t actor) { return actor / each.actors_per_node; };
  for (std::int32_t n = 0; n <= node(each.sizes.actors - 1); ++n) {
    SharedLink out{.name = "out", .bytes_per_s = each.nic_bytes_per_s, .channels = {}};
    SharedLink in{.name = "in", .bytes_per_s = each.nic_bytes_per_s, .channels = {}};
    for (std::int32_t from = 0; from < each.sizes.actors; ++from) {
      for (std::int32_t to = 0; to < each.sizes.actors; ++to) {
        if (node(from) == n && node(to) != n) out.channels.emplace_back(from, to);
        if (node(from) != n && node(to) == n) in.channels.emplace_back(from, to);
      }
    }
    links.push_back(std::move(out));
    links.push_back(std::move(in));
  }
  return links;
}

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name << " " << each.costs << ", NIC " << each.nic_bytes_per_s;
}

class SimGrid : public testing::TestWithParam<Case> {};

TEST_P(SimGrid, Agrees) {
  const Case& each = GetParam();
  const Program program = lowered(generate(each.name, each.sizes));
  CostTable costs = parse_costs(each.costs, stages_of(program));
  costs.links = nics(each);
  const double ours = to_s(measure(simulate(program, costs)).makespan);
  EXPECT_NEAR(simgrid_makespan(program, costs) / ours, 1, kAgrees);
  if (each.nic_bytes_per_s == 0) return;
  costs.links.clear();
  EXPECT_LT(to_s(measure(simulate(program, costs)).makespan), ours) << "nobody shared anything";
}

// Messages of 8 MB: 0.8 ms over a boundary of 10 GB/s.
const char* const kWide = "F=1,B=2,bytes=8000000,bandwidth=1e10,latency=0.05";
const char* const kNarrow = "F=1,B=2,bytes=8000000,bandwidth=5e9,latency=0.05";

INSTANTIATE_TEST_SUITE_P(
    , SimGrid,
    testing::Values(
        Case{"1f1b", {.actors = 4, .microbatches = 8}, kWide},
        Case{"1f1b", {.actors = 8, .microbatches = 32}, kNarrow},
        Case{"interleaved_1f1b", {.actors = 4, .chunks = 2, .microbatches = 8}, kNarrow},
        Case{"1f1b", {.actors = 4, .microbatches = 8}, kWide, 6e9, 2},
        Case{"1f1b", {.actors = 8, .microbatches = 32}, kWide, 5e9, 1},
        Case{"interleaved_1f1b", {.actors = 4, .chunks = 2, .microbatches = 8}, kWide, 4e9, 1},
        Case{"interleaved_1f1b", {.actors = 8, .chunks = 2, .microbatches = 16}, kWide, 8e9, 2},
        Case{"interleaved_1f1b", {.actors = 8, .chunks = 4, .microbatches = 32}, kNarrow, 6e9, 4}));

}  // namespace
}  // namespace penstock
