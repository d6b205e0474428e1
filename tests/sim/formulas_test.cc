// Closed formulas from the literature, exactly.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios.h"

namespace penstock {
namespace {

constexpr int kActors[] = {1, 2, 3, 4, 5, 8, 16};
constexpr int kMicrobatches[] = {1, 2, 3, 4, 7, 8, 16, 32, 33};

GenerateOptions sizes(int actors, int microbatches, int chunks = 1) {
  return {.actors = actors, .chunks = chunks, .microbatches = microbatches};
}

TEST(Formula, MakespanOfOneChunkSchedules) {
  for (const char* name : {"gpipe", "1f1b", "eager_1f1b"}) {
    for (const int p : kActors) {
      for (const int m : kMicrobatches) {
        const Timeline timeline = simulated(name, sizes(p, m), "F=1,B=2");
        EXPECT_EQ(measure(timeline).makespan, from_ms(3 * (m + p - 1))) << name << p << " " << m;
      }
    }
  }
}

// A chunk costs 1/v of a stage: F=1/v, B=2/v, in units that divide evenly.
TEST(Formula, MakespanOfInterleaved) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int v : {1, 2, 3, 4}) {
      for (const int rounds : {1, 2, 4}) {
        const int m = p * rounds;
        const std::string costs = fmt::format("F={},B={}", 12.0 / v, 24.0 / v);
        const Timeline timeline = simulated("interleaved_1f1b", sizes(p, m, v), costs);
        EXPECT_EQ(measure(timeline).makespan, from_ms(12 * 3 * m + 36.0 * (p - 1) / v))
            << p << " " << v << " " << m;
      }
    }
  }
}

TEST(Formula, BubbleIsMegatrons) {
  for (const int p : kActors) {
    for (const int m : kMicrobatches) {
      const Metrics metrics = measure(simulated("1f1b", sizes(p, m), "F=1,B=2"));
      EXPECT_NEAR(metrics.bubble_over_ideal, (p - 1.0) / m, 1e-12);
      EXPECT_NEAR(metrics.bubble_ratio, (p - 1.0) / (m + p - 1), 1e-12);
      EXPECT_NEAR(metrics.utilization, 1 - metrics.bubble_ratio, 1e-12);
    }
  }
}

TEST(Formula, HopLatency) {
  for (const double l : {0.01, 0.1, 0.5, 1.0, 1.5}) {
    const std::string costs = fmt::format("F=1,B=2,latency={}", l);
    EXPECT_EQ(measure(simulated("gpipe", sizes(8, 32), costs)).makespan, from_ms(117 + 14 * l));
    EXPECT_EQ(measure(simulated("eager_1f1b", sizes(8, 32), costs)).makespan,
              from_ms(117 + 14 * l));
    EXPECT_EQ(measure(simulated("1f1b", sizes(8, 32), costs)).makespan, from_ms(117 + 68 * l));
  }
}

// (m+p-1)(F+B) + [2(p-1)/p m + 2(p-2)] c for m a multiple of p and small c.
TEST(Formula, CostPerHopOfOneFOneB) {
  for (const int p : {2, 3, 4, 8, 16}) {
    for (const int rounds : {1, 2, 4, 8}) {
      const int m = p * rounds;
      const Timeline timeline = simulated("1f1b", sizes(p, m), "F=1.5,B=2.5,latency=0.01");
      const double hops = 2.0 * (p - 1) * rounds + 2 * (p - 2);
      EXPECT_EQ(measure(timeline).makespan, from_ms((m + p - 1) * 4.0 + hops * 0.01))
          << p << " " << m;
    }
  }
}

// Sharded weights change neither step nor memory.
TEST(Formula, LoopedBfs) {
  for (const int p : {1, 2, 4, 8}) {
    for (const int v : {1, 2, 4}) {
      for (const int m : {p, 2 * p, 3 * p + 1}) {
        for (const char* fsdp : {"0", "1"}) {
          GenerateOptions options = sizes(p, m, v);
          options.option["fsdp"] = fsdp;
          const Metrics metrics = measure(simulated("looped_bfs", options, "F=1,B=2"));
          EXPECT_EQ(metrics.makespan, from_ms(3 * m * v + 3 * (p - 1))) << p << v << m << fsdp;
          for (const ActorMetrics& actor : metrics.actors) EXPECT_EQ(actor.peak_in_flight, m);
        }
      }
    }
  }
}

TEST(Formula, PeakInFlight) {
  for (const int p : kActors) {
    for (const int m : kMicrobatches) {
      const Metrics gpipe = measure(simulated("gpipe", sizes(p, m), "F=1,B=2"));
      const Metrics one = measure(simulated("1f1b", sizes(p, m), "F=1,B=2"));
      const Metrics eager = measure(simulated("eager_1f1b", sizes(p, m), "F=1,B=2"));
      for (int r = 0; r < p; ++r) {
        const auto actor = static_cast<std::size_t>(r);
        EXPECT_EQ(gpipe.actors[actor].peak_in_flight, m);
        EXPECT_EQ(one.actors[actor].peak_in_flight, std::min(m, p - r));
        EXPECT_EQ(eager.actors[actor].peak_in_flight, std::min(m, 2 * (p - r) - 1));
      }
    }
  }
}

}  // namespace
}  // namespace penstock
