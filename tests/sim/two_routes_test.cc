// Published bubbles and peaks of schedules that go two ways.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios.h"

namespace penstock {
namespace {

void expect_peak_everywhere(const Metrics& metrics, double peak, const std::string& what) {
  for (const ActorMetrics& actor : metrics.actors) {
    EXPECT_DOUBLE_EQ(actor.peak_in_flight, peak) << what;
  }
}

// deepseek-ai/DualPipe's README: bubble (p/2-1)(F&B + B - 3W), p+1 activations on every actor.
// Exact at F = I = W. Where a pair takes less than its two ops, the middle actors idle that long;
// the outer ones run fewer pairs and are busier.
TEST(TwoRoutes, DualPipesBubbleAndPeak) {
  for (const int op : {1, 2}) {
    for (const int pair : {2 * op, 3 * op - 1, 3 * op}) {
      const std::string costs = fmt::format("F={0},I={0},W={0},overlap={1}", op, pair);
      for (const int p : {2, 4, 6, 8, 12, 16}) {
        for (const int m : {2 * p, 2 * p + 2, 3 * p, 4 * p, 6 * p}) {
          const Metrics metrics =
              measure(simulated("dualpipe", {.actors = p, .microbatches = m}, costs));
          const std::string what = fmt::format("p={} m={} {}", p, m, costs);
          const Nanoseconds bubble = from_ms((p / 2 - 1) * (pair + 2 * op - 3 * op));
          for (int actor = 0; actor < p; ++actor) {
            const ActorMetrics& one = metrics.actors[static_cast<std::size_t>(actor)];
            const bool is_middle = actor == p / 2 - 1 || actor == p / 2;
            const Nanoseconds idle = metrics.makespan - one.busy;
            EXPECT_LE(idle, bubble) << what << " actor " << actor;
            if (is_middle || pair == 3 * op) {
              EXPECT_EQ(idle, bubble) << what << " actor " << actor;
            }
          }
          expect_peak_everywhere(metrics, p + 1, what);
        }
      }
    }
  }
}

GenerateOptions dualpipev(int actors, int microbatches, const char* variant, const char* fused) {
  return {.actors = actors,
          .microbatches = microbatches,
          .option = {{"variant", variant}, {"fused", fused}}};
}

// A whole actor's F=1, I=1, W=1: its two chunks take half of that each.
double step_of(const GenerateOptions& options) {
  return makespan_ms(simulated("dualpipev", options, "F=0.5,I=0.5,W=0.5"));
}

// Bubbles of 2(p-1) chunks with the pairs as they are, of p-1 with their ops one after the other;
// 2p+1 chunks in flight.
TEST(TwoRoutes, DualPipeVsBubbleAndPeak) {
  for (const int p : {1, 2, 3, 4, 5, 8, 16}) {
    for (const int m : {2 * p, 2 * p + 1, 3 * p, 4 * p, 64}) {
      if (m < 2 * p) continue;
      EXPECT_DOUBLE_EQ(step_of(dualpipev(p, m, "torch", "1")), 3 * m + (p - 1)) << p << " " << m;
      EXPECT_DOUBLE_EQ(step_of(dualpipev(p, m, "deepseek", "0")), 3 * m + (p - 1) / 2.0)
          << p << " " << m;
      const Timeline timeline =
          simulated("dualpipev", dualpipev(p, m, "torch", "1"), "F=1,I=1,W=1");
      expect_peak_everywhere(measure(timeline), std::min<double>(m, p + 0.5),
                             fmt::format("p={} m={}", p, m));
    }
  }
}

// Step minus work in units of a whole actor's forward, from a run of both projects' own generators
// in an order-driven simulation without transfer times.
TEST(TwoRoutes, DualPipeVsVariants) {
  struct Case {
    int actors, microbatches;
    double jaxpp, jaxpp_unfused;
  };
  for (const Case c : {Case{2, 4, 1.5, 0.5}, Case{4, 8, 4.5, 2.5}, Case{4, 16, 4.5, 2.5},
                       Case{8, 16, 11.5, 7.5}, Case{8, 32, 11.5, 7.5}, Case{8, 64, 11.5, 7.5}}) {
    const auto bubble = [&](const char* fused) {
      return step_of(dualpipev(c.actors, c.microbatches, "jaxpp", fused)) - 3 * c.microbatches;
    };
    EXPECT_DOUBLE_EQ(bubble("1"), c.jaxpp) << c.actors << " " << c.microbatches;
    EXPECT_DOUBLE_EQ(bubble("0"), c.jaxpp_unfused) << c.actors << " " << c.microbatches;
  }
  EXPECT_DOUBLE_EQ(step_of(dualpipev(8, 32, "torch", "1")), 103.0);
  EXPECT_DOUBLE_EQ(step_of(dualpipev(8, 32, "torch", "0")), 99.5);
  EXPECT_DOUBLE_EQ(step_of(dualpipev(8, 32, "jaxpp", "1")), 107.5);
  EXPECT_DOUBLE_EQ(step_of(dualpipev(8, 32, "jaxpp", "0")), 103.5);
}

// JaxPP's order with asynchronous hops, from the same simulation.
TEST(TwoRoutes, DualPipeVsHops) {
  const GenerateOptions options = dualpipev(8, 32, "jaxpp", "0");
  const std::pair<double, double> steps[] = {{0.1, 105.7}, {0.25, 109.75}, {0.5, 118}, {1, 138.5}};
  for (const auto& [hop, step] : steps) {
    const std::string costs = fmt::format("F=0.5,I=0.5,W=0.5,latency={}", hop);
    EXPECT_DOUBLE_EQ(makespan_ms(simulated("dualpipev", options, costs)), step) << hop;
  }
}

// With f pipes each way, D actors and k units of D microbatches: D/f - 2 slots of bubble where F=B,
// (k+1)(D/f - 2) forwards where B=2F. D=4: 16 and 30 for one and two units.
TEST(TwoRoutes, ChimerasStep) {
  for (const int actors : {2, 4, 6, 8, 12, 16}) {
    for (int pipes = 2; pipes <= actors; pipes += 2) {
      if (actors % pipes != 0) continue;
      for (const int units : {1, 2, 3, 5}) {
        const int m = units * actors;
        const auto step = [&](const char* costs) {
          return makespan_ms(simulated(
              "chimera",
              {.actors = actors, .microbatches = m, .option = {{"pipes", std::to_string(pipes)}}},
              costs));
        };
        const int bubble = 2 * actors / pipes - 2;
        EXPECT_EQ(step("F=1,B=1"), 2 * m + bubble) << actors << " " << pipes << " " << m;
        EXPECT_EQ(step("F=1,B=2"), 3 * m + (units + 1) * bubble)
            << actors << " " << pipes << " " << m;
      }
    }
  }
}

// D/2+1 on the outer actors, one more on each towards the middle, where it is D.
TEST(TwoRoutes, ChimerasPeak) {
  for (const int actors : {2, 4, 8, 16}) {
    for (const int units : {1, 3}) {
      const Metrics metrics = measure(
          simulated("chimera", {.actors = actors, .microbatches = units * actors}, "F=1,B=1"));
      for (int actor = 0; actor < actors; ++actor) {
        const int outside = std::min(actor, actors - 1 - actor);
        EXPECT_EQ(metrics.actors[static_cast<std::size_t>(actor)].peak_in_flight,
                  actors / 2 + 1 + outside)
            << actors << " " << actor;
      }
    }
  }
}

double bitpipes_step(int actors, int microbatches, const char* variant, const char* costs) {
  return makespan_ms(simulated(
      "bitpipe", {.actors = actors, .microbatches = microbatches, .option = {{"variant", variant}}},
      costs));
}

// 28, 60 and 124 for one unit on 4, 8 and 16 actors, 54 for two on 4; chunk costs F=1, B=2.
TEST(TwoRoutes, BitPipesStep) {
  for (const int actors : {2, 4, 6, 8, 10, 16}) {
    for (const int units : {1, 2, 3, 4, 8}) {
      const int m = units * actors;
      const int released = 6 * m + (units + 1) * (actors - 2);
      const int gained = actors > 2 ? units - 1 : 0;
      EXPECT_EQ(bitpipes_step(actors, m, "released", "F=1,B=2"), released) << actors << " " << m;
      EXPECT_EQ(bitpipes_step(actors, m, "concat", "F=1,B=2"), released - gained)
          << actors << " " << m;
      for (const char* variant : {"released", "concat"}) {
        EXPECT_EQ(bitpipes_step(actors, m, variant, "F=1,B=1"), 4 * m + actors - 2)
            << variant << actors << " " << m;
      }
    }
  }
  EXPECT_EQ(bitpipes_step(4, 4, "released", "F=1,B=2"), 28);
  EXPECT_EQ(bitpipes_step(8, 8, "released", "F=1,B=2"), 60);
  EXPECT_EQ(bitpipes_step(16, 16, "released", "F=1,B=2"), 124);
  EXPECT_EQ(bitpipes_step(4, 8, "released", "F=1,B=2"), 54);
  EXPECT_EQ(bitpipes_step(4, 8, "concat", "F=1,B=2"), 53) << "the figure in its repository";
}

// 13 hops are exposed on 4 actors, 33 on 8.
TEST(TwoRoutes, BitPipesHops) {
  for (const double hop : {0.25, 0.5, 1.0}) {
    const std::string costs = fmt::format("F=1,B=2,latency={}", hop);
    EXPECT_DOUBLE_EQ(bitpipes_step(4, 4, "released", costs.c_str()), 28 + 13 * hop);
    EXPECT_DOUBLE_EQ(bitpipes_step(8, 8, "released", costs.c_str()), 60 + 33 * hop);
  }
}

// BitPipe wins over interleaved 1F1B for one or two units, loses from three or four on.
TEST(TwoRoutes, BitPipeAgainstInterleaved) {
  for (const int actors : {4, 8, 16}) {
    for (const int units : {1, 2, 3, 4, 6}) {
      const int m = units * actors;
      const double interleaved = makespan_ms(simulated(
          "interleaved_1f1b", {.actors = actors, .chunks = 2, .microbatches = m}, "F=1,B=2"));
      EXPECT_EQ(interleaved, 6 * m + 3 * (actors - 1));
      EXPECT_EQ(bitpipes_step(actors, m, "released", "F=1,B=2") < interleaved,
                (units + 1) * (actors - 2) < 3 * (actors - 1))
          << actors << " " << m;
    }
  }
}

// In chunks, half a microbatch each: 3D/2+1 on the outer actors, one more on each towards the
// middle, where it is 2D.
TEST(TwoRoutes, BitPipesPeak) {
  for (const int actors : {2, 4, 8, 16}) {
    for (const int units : {1, 2, 4}) {
      const Metrics metrics = measure(
          simulated("bitpipe", {.actors = actors, .microbatches = units * actors}, "F=1,B=2"));
      for (int actor = 0; actor < actors; ++actor) {
        const int outside = std::min(actor, actors - 1 - actor);
        EXPECT_EQ(2 * metrics.actors[static_cast<std::size_t>(actor)].peak_in_flight,
                  3 * actors / 2 + 1 + outside)
            << actors << " " << actor;
      }
    }
  }
}

// One cost model, four of each: what each paper's idea is worth.
TEST(TwoRoutes, LadderOfPapers) {
  const auto step = [](const char* name, int chunks, const char* costs) {
    return makespan_ms(simulated(name, {.actors = 4, .chunks = chunks, .microbatches = 4}, costs));
  };
  EXPECT_EQ(step("1f1b", 1, "F=2,B=4"), 42);
  EXPECT_EQ(step("interleaved_1f1b", 2, "F=1,B=2"), 33);
  EXPECT_EQ(step("chimera", 1, "F=2,B=4"), 32);
  EXPECT_EQ(step("bitpipe", 2, "F=1,B=2"), 28);
}

}  // namespace
}  // namespace penstock
