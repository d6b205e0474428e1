#include <gtest/gtest.h>

#include "penstock/formats.h"
#include "penstock/report.h"
#include "scenarios.h"

namespace penstock {
namespace {

// Messages of 3 ms on the channel and 0.5 ms behind it; the second queues behind the first.

TEST(Explain, EveryOpSaysWhatItWaitedFor) {
  const Program program =
      lowered(parse("0: 0F0 0F1 0F2 0B0 0B1 0B2\n"
                    "1: 1F0 1F2 1F1 1B0 1B1 1B2"));
  const Timeline timeline =
      simulate(program, parse_costs("F=1,B=1,bytes=3000000,bandwidth=1e9,latency=0.5,update=1", 2));
  EXPECT_EQ(explain(timeline, 1),
            "1F0      started       4.500 ms, waited 4.500 ms for the activation of stage 0\n"
            "         1.000 ms until 0F0 ended on actor 0, 3.500 ms on the way\n"
            "1F2      started      10.500 ms, waited 5.000 ms for the activation of stage 0\n"
            "         1.500 ms channel 0>1 busy, 3.500 ms on the way\n"
            "1F1      started      11.500 ms, right behind 1F2\n"
            "1B0      started      12.500 ms, right behind 1F1\n"
            "1B1      started      13.500 ms, right behind 1B0\n"
            "1B2      started      14.500 ms, right behind 1B1\n"
            "update 1 started      24.000 ms, waited 8.500 ms for the other actors\n");
}

TEST(Explain, PairsAndHeldLanes) {
  const Program program = lowered(parse("0: 0F0 0F1 (0F2;0B0) 0B1 0B2"));
  EXPECT_EQ(explain(simulate(program, parse_costs("F=1,B=2", 1)), 0),
            "0F0      started       0.000 ms, at the step's begin\n"
            "0F1      started       1.000 ms, right behind 0F0\n"
            "0F2      started       2.000 ms, right behind 0F1\n"
            "0B0      started       2.000 ms, together with 0F2\n"
            "0B1      started       5.000 ms, right behind 0B0\n"
            "0B2      started       7.000 ms, right behind 0B1\n");
  const Timeline blocking = simulated("1f1b", {.actors = 2, .microbatches = 1}, "F=1,B=2,latency=1",
                                      {.p2p = P2p::Blocking});
  EXPECT_EQ(explain(blocking, 1),
            "1F0      started       2.000 ms, waited 2.000 ms for the activation of stage 0\n"
            "         1.000 ms until 0F0 ended on actor 0, 1.000 ms on the way\n"
            "1B0      started       3.000 ms, right behind 1F0\n");
}

// The lane is free when both of a pair have ended, whichever is the longer.
TEST(Explain, ALaneIsHeldByTheLongerOfAPair) {
  Timeline timeline = simulate(lowered(parse("0: (0F0;0F1) 0B0 0B1")), parse_costs("F=1,B=2", 1));
  ASSERT_EQ(timeline.spans[1].op.microbatch, 1);
  timeline.spans[1].end -= from_ms(1);
  EXPECT_EQ(explain(timeline, 0),
            "0F0      started       0.000 ms, at the step's begin\n"
            "0F1      started       0.000 ms, together with 0F0\n"
            "0B0      started       2.000 ms, right behind 0F0\n"
            "0B1      started       4.000 ms, right behind 0B0\n");
}

TEST(Explain, RefusesActorsThatAreNot) {
  const Timeline timeline = simulated("1f1b", {.actors = 2, .microbatches = 1}, "F=1,B=2");
  EXPECT_THROW(explain(timeline, 2), Error);
  EXPECT_THROW(explain(timeline, -1), Error);
}

}  // namespace
}  // namespace penstock
