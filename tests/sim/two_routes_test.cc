// Published bubbles and peaks of schedules that go two ways.
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

}  // namespace
}  // namespace penstock
