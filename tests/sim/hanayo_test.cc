// Hanayo's bubble, as its paper gives it and as our order has it.
#include <algorithm>

#include <gtest/gtest.h>

#include "scenarios.h"

namespace penstock {
namespace {

Metrics waves(int actors, int waves, int microbatches, const char* costs) {
  return measure(simulated(
      "hanayo", {.actors = actors, .chunks = 2 * waves, .microbatches = microbatches}, costs));
}

constexpr int kActors[] = {1, 2, 3, 4, 5, 8, 16};
constexpr int kWaves[] = {1, 2, 3, 4};

// arXiv 2308.15762, at m = p, B = 2F and free transfers: bubble ratio (2p-2)/(3pW+p-1).
TEST(Hanayo, BubbleIsNoLargerThanPublished) {
  for (const int p : kActors) {
    for (const int w : kWaves) {
      const double published = (2.0 * p - 2) / (3.0 * p * w + p - 1);
      const double ratio = waves(p, w, p, "F=1,B=2").bubble_ratio;
      EXPECT_LE(ratio, published + 1e-12) << p << " " << w;
      EXPECT_NEAR(ratio, (2.0 * p - 2) / (3.0 * p * w + 2 * p - 2), 1e-12) << p << " " << w;
    }
  }
}

TEST(Hanayo, Steps) {
  for (const int p : kActors) {
    for (const int w : kWaves) {
      for (const int k : {1, 2, 4, 7}) {
        const int m = k * p;
        EXPECT_EQ(waves(p, w, m, "F=1,B=1").makespan, from_ms(4 * m * w + 2 * (p - 1)))
            << p << " " << w << " " << m;
        const int bubble = p > 1 ? 2 * (k + 1) * (p - 1) - (k > 1 ? 1 : 0) : 0;
        EXPECT_EQ(waves(p, w, m, "F=1,B=2").makespan, from_ms(6 * m * w + bubble))
            << p << " " << w << " " << m;
      }
    }
  }
}

TEST(Hanayo, Peak) {
  for (const int p : kActors) {
    for (const int w : kWaves) {
      for (const int m : {1, p - 1, p, p + 1, 3 * p, 50}) {
        if (m < 1) continue;
        double peak = 0;
        for (const ActorMetrics& actor : waves(p, w, m, "F=1,B=1").actors) {
          peak = std::max(peak, actor.peak_in_flight);
        }
        EXPECT_EQ(peak, std::min(m, p)) << p << " " << w << " " << m;
      }
    }
  }
}

}  // namespace
}  // namespace penstock
