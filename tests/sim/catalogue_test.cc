// Every schedule of the catalogue, in every mode of transfers.
#include <stdexcept>

#include <gtest/gtest.h>

#include "../generate_near.h"
#include "scenarios.h"

namespace penstock {
namespace {

class Catalogue : public testing::TestWithParam<Generator> {
 protected:
  static Schedule schedule() {
    const auto near = generate_near(GetParam().name, {.actors = 4, .chunks = 2, .microbatches = 8});
    if (!near) throw std::runtime_error("refuses 4 actors and 8 microbatches");
    return *near;
  }
};

CostTable costs_of(const Program& program, const char* text) {
  return parse_costs(text, stages_of(program));
}

TEST_P(Catalogue, RunsInEveryMode) {
  for (const P2p mode : {P2p::Async, P2p::SingleStream, P2p::Blocking}) {
    const Program program = lowered(
        schedule(), mode == P2p::Blocking ? MessagePlacement::Paired : MessagePlacement::Linear);
    const CostTable costs =
        costs_of(program,
                 "F=1,B=2,I=1,W=1,latency=0.25,bytes=1000,bandwidth=1e7,activation=64,reduce=0.5,"
                 "update=0.25,norm=0.125");
    const Metrics metrics = measure(simulate(program, costs, {.p2p = mode}));
    for (const ActorMetrics& actor : metrics.actors) {
      Nanoseconds sum = actor.busy;
      for (const Nanoseconds idle : actor.idle) sum += idle;
      EXPECT_EQ(sum, metrics.makespan) << name(mode);
      EXPECT_GT(actor.peak_in_flight, 0);
    }
  }
}

// The peak is the order's, not the costs': as long as an actor runs one op after the other.
TEST_P(Catalogue, PeakIsThatOfTheOrder) {
  const Program program = lowered(schedule());
  const auto peaks = [&](const char* text) {
    std::vector<double> list;
    const Metrics metrics = measure(simulate(program, costs_of(program, text)));
    for (const ActorMetrics& actor : metrics.actors) list.push_back(actor.peak_in_flight);
    return list;
  };
  EXPECT_EQ(peaks("F=1,B=2,I=1,W=1"), peaks("F=3,B=4,I=3,W=1,latency=2"));
}

// Pairs that take as long as their two ops, told or not.
TEST_P(Catalogue, AskingForTheSumChangesNothing) {
  const Program program = lowered(schedule());
  EXPECT_EQ(simulate(program, costs_of(program, "F=1,B=3,I=2,W=1,overlap=4")),
            simulate(program, costs_of(program, "F=1,B=3,I=2,W=1")));
}

std::string spelt(const testing::TestParamInfo<Generator>& info) {
  return "_" + std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(All, Catalogue,
                         testing::ValuesIn(generators().begin(), generators().end()), spelt);

}  // namespace
}  // namespace penstock
