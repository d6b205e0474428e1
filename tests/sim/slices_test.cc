// Token slices: closed formulas and TeraPipe's published numbers.
#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios.h"

namespace penstock {
namespace {

constexpr int kSlices[] = {1, 2, 3, 4, 8};

GenerateOptions sizes(int actors, int microbatches, int slices, int chunks = 1) {
  return {.actors = actors, .chunks = chunks, .microbatches = microbatches, .slices = slices};
}

// A microbatch on one actor takes F=24, B=48 in all, in slices and chunks that divide it evenly.
std::string costs(int parts) {
  return fmt::format("F={},B={}", 24.0 / parts, 48.0 / parts);
}

TEST(Slices, SeqOneFOneBIsShorterByTheSlices) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int m : {1, 2, 3, 4, 8, 16, 17}) {
      for (const int k : kSlices) {
        const Metrics metrics = measure(simulated("seq1f1b", sizes(p, m, k), costs(k)));
        EXPECT_EQ(metrics.makespan, from_ms(72.0 * m + 72.0 * (p - 1) / k)) << p << m << k;
        for (int r = 0; r < p; ++r) {
          EXPECT_DOUBLE_EQ(metrics.actors[static_cast<std::size_t>(r)].peak_in_flight,
                           static_cast<double>(std::min(m * k, p - r - 1 + k)) / k)
              << p << " " << m << " " << k << " " << r;
        }
      }
    }
  }
}

// The paper's repository, issue 4: (p-1+k)/k.
TEST(Slices, PublishedPeaksOfSeqOneFOneB) {
  EXPECT_EQ(measure(simulated("seq1f1b", sizes(4, 8, 4), costs(4))).actors[0].peak_in_flight, 1.75);
  EXPECT_EQ(measure(simulated("seq1f1b", sizes(8, 16, 4), costs(4))).actors[0].peak_in_flight,
            2.75);
}

// (p-1)(F+B)/(vk), wherever a group of microbatches has no more slices than there are actors.
TEST(Slices, InterleavedSeqOneFOneB) {
  for (const int p : {2, 4, 8}) {
    for (const int v : {2, 3}) {
      for (const int k : {1, 2, 4}) {
        if (p % k != 0) continue;
        for (const int m : {p, 2 * p, 3 * p}) {
          const Metrics metrics = measure(simulated("seq1f1b", sizes(p, m, k, v), costs(k * v)));
          EXPECT_EQ(metrics.makespan, from_ms(72.0 * m + 72.0 * (p - 1) / (k * v)))
              << p << " " << v << " " << k << " " << m;
        }
      }
    }
  }
}

TEST(Slices, TeraPipeKeepsEverything) {
  for (const int p : {1, 2, 4, 7}) {
    for (const int m : {1, 2, 5}) {
      for (const int k : kSlices) {
        const Metrics metrics = measure(simulated("terapipe", sizes(p, m, k), costs(k)));
        EXPECT_EQ(metrics.makespan, from_ms(72.0 * m + 72.0 * (p - 1) / k)) << p << m << k;
        for (const ActorMetrics& actor : metrics.actors) EXPECT_EQ(actor.peak_in_flight, m);
      }
    }
  }
}

class Setting9 : public testing::Test {
 protected:
  Setting9() {
    std::ifstream in(TEST_DATA "/simulation/terapipe_setting9.json");
    golden = nlohmann::json::parse(in);
  }

  // The step in ms when slice i takes ms[i] on every stage, a third of it forward.
  double step(const std::vector<double>& ms) const {
    const Schedule schedule = generate(
        "terapipe", sizes(golden["stages"], golden["microbatches"], static_cast<int>(ms.size())));
    StageCosts stage;
    Duration forward;
    Duration backward;
    forward.varied.emplace_back();
    backward.varied.emplace_back();
    for (const double time : ms) {
      forward.varied[0].push_back(from_ms(time / 3));
      backward.varied[0].push_back(from_ms(time) - forward.varied[0].back());
    }
    stage.op[static_cast<std::size_t>(OpKind::Forward)] = forward;
    stage.op[static_cast<std::size_t>(OpKind::Backward)] = backward;
    const Program program = lowered(schedule);
    const CostTable table = uniform_costs(stages_of(program), stage);
    const double ended = makespan_ms(simulate(program, table));
    EXPECT_NEAR(to_ms(sweep_makespan(program, table)), ended, 1e-9);
    return ended;
  }

  // The stage time of a slice, linear between the values that the published steps imply.
  double stage_ms(int tokens) const {
    std::map<int, double> table;
    for (const auto& [length, ms] : golden["stage_ms_by_tokens"].items()) {
      table[std::stoi(length)] = ms;
    }
    const auto above = table.lower_bound(tokens);
    if (above->first == tokens) return above->second;
    const auto below = std::prev(above);
    const double part = static_cast<double>(tokens - below->first) / (above->first - below->first);
    return below->second + part * (above->second - below->second);
  }

  nlohmann::json golden;
};

TEST_F(Setting9, EqualSlicesTakeThePublishedSteps) {
  for (const auto& [slices, seconds] : golden["uniform_s_by_slices"].items()) {
    const int count = std::stoi(slices);
    const int tokens = golden["sequence"].get<int>() / count;
    EXPECT_NEAR(step(std::vector<double>(static_cast<std::size_t>(count), stage_ms(tokens))),
                1000 * seconds.get<double>(), 1e-3);
  }
}

TEST_F(Setting9, UnequalSlicesTakeTheSumAndTheLongest) {
  std::vector<double> ms;
  for (const int tokens : golden["planned"]["slices"]) ms.push_back(stage_ms(tokens));
  EXPECT_NEAR(step(ms), golden["planned"]["step_ms"], 1e-3);
}

// Later slices attend to more tokens: max(9.5, 6 + 0.044 l) + 1e-6 l (c + l/2) ms.
TEST_F(Setting9, SlicesThatGrowWithTheirContext) {
  for (const auto& [slices, seconds] : golden["four_number_uniform_s_by_slices"].items()) {
    const int count = std::stoi(slices);
    const double length = golden["sequence"].get<double>() / count;
    std::vector<double> ms;
    for (int i = 0; i < count; ++i) {
      ms.push_back(std::max(9.5, 6 + 0.044 * length) + 1e-6 * length * (i * length + length / 2));
    }
    EXPECT_NEAR(step(ms) / 1000, seconds, 0.0005 + 1e-6);
  }
}

}  // namespace
}  // namespace penstock
