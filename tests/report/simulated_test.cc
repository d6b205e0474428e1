// Simulated timelines of every schedule and p2p mode, through files and reports.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../generate_near.h"
#include "penstock/generate.h"
#include "penstock/program.h"
#include "penstock/report.h"
#include "penstock/simulate.h"
#include "penstock/trace.h"

namespace penstock {
namespace {

Timeline simulated(const Generator& generator, P2p p2p) {
  const auto schedule =
      generate_near(generator.name, {.actors = 4, .chunks = 2, .microbatches = 8});
  if (!schedule) throw std::runtime_error("refuses these sizes: " + std::string(generator.name));
  const Program program = lower(*schedule);
  const auto stages = static_cast<std::int32_t>(program.schedule.pipeline.stages.size());
  const CostTable costs = parse_costs(
      "F=1,B=2,I=1,W=1,latency=0.1,bytes=1000,bandwidth=1e7,update=0.5,activation=4096", stages);
  SimulateOptions how;
  how.p2p = p2p;
  return simulate(program, costs, how);
}

class Simulated : public ::testing::TestWithParam<P2p> {};

TEST_P(Simulated, ComesBackFromAFileAsItWas) {
  for (const Generator& generator : generators()) {
    const Timeline timeline = simulated(generator, GetParam());
    EXPECT_EQ(read_trace(write_trace(timeline), "t.json"), timeline) << generator.name;
  }
}

TEST_P(Simulated, CriticalPathCoversTheStep) {
  for (const Generator& generator : generators()) {
    const Timeline timeline = simulated(generator, GetParam());
    const auto json = report_json(timeline, measure(timeline));
    double covered = 0;
    for (const auto& link : json["critical_path"]) {
      covered += link["end_s"].get<double>() - link["start_s"].get<double>();
    }
    EXPECT_NEAR(covered, json["makespan_s"].get<double>(), 1e-9) << generator.name;
  }
}

TEST_P(Simulated, DiffersFromItselfInNothing) {
  for (const Generator& generator : generators()) {
    const Timeline timeline = simulated(generator, GetParam());
    const auto json = compare_json(timeline, timeline);
    EXPECT_EQ(json["makespan_s"]["difference_percent"], 0) << generator.name;
    for (const auto& kind : json["kinds"]) EXPECT_EQ(kind["mean_s"]["difference_percent"], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Simulated,
                         ::testing::Values(P2p::Async, P2p::SingleStream, P2p::Blocking),
                         [](const auto& mode) { return std::string(name(mode.param)); });

}  // namespace
}  // namespace penstock
