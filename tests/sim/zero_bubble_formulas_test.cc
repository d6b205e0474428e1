// Closed formulas of the schedules that split the backward, exactly. Arithmetic and fits to
// order-driven simulations unless a paper is named.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios.h"

namespace penstock {
namespace {

constexpr int kActors[] = {1, 2, 3, 4, 5, 7, 8, 16};

struct Times {
  double forward;
  double input;
  double weight;
  double all() const { return forward + input + weight; }
  std::string text() const { return fmt::format("F={},I={},W={}", forward, input, weight); }
};

// The rules are made for a W that takes no longer than F and I.
constexpr Times kTimes[] = {{1, 1, 1}, {2, 2, 1}, {3, 4, 2}, {3, 2, 2}, {4, 3, 1}};

Metrics metrics_of(const char* name, const GenerateOptions& sizes, const std::string& costs) {
  return measure(simulated(name, sizes, costs));
}

// (p-1)(F+I-W) for m >= p, (m+p-1)(F+I)+W below: arXiv 2401.10241.
TEST(ZeroBubble, H1) {
  for (const Times& t : kTimes) {
    for (const int p : kActors) {
      for (const int m : {1, 2, p - 1, p, p + 1, 2 * p, 40}) {
        if (m < 1) continue;
        const double busy = m * t.all();
        const double makespan = m >= p ? busy + (p - 1) * (t.forward + t.input - t.weight)
                                       : (m + p - 1) * (t.forward + t.input) + t.weight;
        const Metrics metrics = metrics_of("zb_h1", {.actors = p, .microbatches = m}, t.text());
        EXPECT_EQ(metrics.makespan, from_ms(makespan)) << t.text() << " " << p << " " << m;
        for (const ActorMetrics& actor : metrics.actors) {
          EXPECT_EQ(actor.peak_in_flight, std::min(m, p)) << p << " " << m;
        }
      }
    }
  }
}

// The longest span of an actor is m(F+I+W) + (p-1)(F+I-2W): nothing at F = I = W.
TEST(ZeroBubble, H2) {
  for (const Times& t : kTimes) {
    for (const int p : kActors) {
      for (const int m : {2 * p - 1, 2 * p, 3 * p, 40}) {
        const Metrics metrics = metrics_of("zb_h2", {.actors = p, .microbatches = m}, t.text());
        const double bubble = (p - 1) * (t.forward + t.input - 2 * t.weight);
        EXPECT_NEAR(metrics.bubble_ratio_span, bubble / (bubble + m * t.all()), 1e-12)
            << t.text() << " " << p << " " << m;
        for (const ActorMetrics& actor : metrics.actors) {
          EXPECT_EQ(actor.peak_in_flight, 2 * p - 1) << p << " " << m;
        }
      }
    }
  }
  const auto ms = [](const char* name) {
    return makespan_ms(simulated(name, {.actors = 4, .microbatches = 5}, "F=1,I=1,W=1"));
  };
  EXPECT_EQ(ms("zb_h2"), 19) << "too few microbatches for twice the warm-up";
  EXPECT_EQ(ms("zb_h1"), 18);
}

struct Sizes {
  std::int64_t activation;  // M_B
  std::int64_t left;        // M_W
  std::string text() const {
    return fmt::format("F=1,I=1,W=1,activation={},left={}", activation, left);
  }
};

// Of a layer, with a batch of b sequences of s tokens, h hidden, a heads: M_B = sb(34h + 5as),
// M_W = 32sbh. The four models of the paper's table 3, s = 1024.
std::vector<Sizes> published_sizes() {
  std::vector<Sizes> sizes;
  const std::int64_t s = 1024;
  for (const auto& [h, a, b] :
       {std::array<std::int64_t, 3>{2304, 24, 6}, {4096, 32, 3}, {5120, 40, 1}, {6144, 48, 1}}) {
    sizes.push_back({s * b * (34 * h + 5 * a * s), 32 * s * b * h});
  }
  return sizes;
}

// Actor r, arXiv 2401.10241: zb_h1 (p-r)M_B + r M_W, zb_h2 (2(p-r)-1)M_B + 2r M_W, so that its
// first actor holds the most, (2p-1)M_B. 1f1b (p-r)M_B.
TEST(ZeroBubble, MemoryOfEveryActor) {
  for (const Sizes& sizes : published_sizes()) {
    for (const int p : kActors) {
      for (const int m : {2 * p - 1, 2 * p, 40}) {
        const GenerateOptions all{.actors = p, .microbatches = m};
        const Metrics h1 = metrics_of("zb_h1", all, sizes.text());
        const Metrics h2 = metrics_of("zb_h2", all, sizes.text());
        const Metrics whole = metrics_of("1f1b", all, sizes.text());
        std::int64_t most = 0;
        for (int r = 0; r < p; ++r) {
          const auto peak = [&](const Metrics& metrics) {
            return metrics.actors[static_cast<std::size_t>(r)].peak_bytes;
          };
          EXPECT_EQ(peak(h1), (p - r) * sizes.activation + r * sizes.left) << p << m << r;
          EXPECT_EQ(peak(h2), (2 * (p - r) - 1) * sizes.activation + 2 * r * sizes.left) << p << m;
          EXPECT_EQ(peak(whole), (p - r) * sizes.activation) << p << " " << m << " " << r;
          most = std::max(most, peak(h2));
        }
        EXPECT_EQ(most, (2 * p - 1) * sizes.activation) << p << " " << m;
      }
    }
  }
}

// In the V family a chunk has half of both. What is in flight counts until W, so it bounds the
// bytes; where W needs all of it, it is the bytes.
TEST(ZeroBubble, MemoryOfTheVFamily) {
  const std::pair<const char*, int (*)(int)> peaks[] = {
      {"zb_v", [](int p) { return p; }},
      {"v_half", [](int p) { return (p + 2) / 2; }},
      {"v_min", [](int p) { return (p + 4) / 3; }}};
  for (const int p : {2, 4, 8, 16}) {
    for (const auto& [name, peak] : peaks) {
      const GenerateOptions all{.actors = p, .microbatches = 3 * p};
      const auto most = [&](const char* costs) {
        std::int64_t bytes = 0;
        for (const ActorMetrics& actor : metrics_of(name, all, costs).actors) {
          bytes = std::max(bytes, actor.peak_bytes);
        }
        return bytes;
      };
      EXPECT_EQ(most("F=1,I=1,W=1,activation=50"), 100 * peak(p)) << name << p;
      EXPECT_EQ(most("F=1,I=1,W=1,activation=50,left=50"), 100 * peak(p)) << name << p;
      EXPECT_LE(most("F=1,I=1,W=1,activation=50,left=20"), 100 * peak(p)) << name << p;
    }
  }
}

// p-1 chunk units, and as much in flight on every actor.
TEST(ZeroBubble, InterleavedZb1p) {
  for (const int p : kActors) {
    for (const int v : {1, 2, 3, 4}) {
      for (const int rounds : {1, 2, 4}) {
        const int m = p * rounds;
        const Metrics metrics = metrics_of(
            "interleaved_zb1p", {.actors = p, .chunks = v, .microbatches = m}, "F=1,I=1,W=1");
        EXPECT_EQ(metrics.makespan, from_ms(3 * m * v + p - 1)) << p << " " << v << " " << m;
        for (const ActorMetrics& actor : metrics.actors) {
          EXPECT_EQ(actor.peak_in_flight, p) << p << " " << v << " " << m;
        }
      }
    }
  }
}

// p-1 half-stage units, all of them before an actor's first op or after its last.
TEST(ZeroBubble, ZbV) {
  for (const char* variant : {"torch", "sailsg"}) {
    for (const int p : kActors) {
      for (const int m : {2 * p - 1, 2 * p, 3 * p, 40}) {
        const GenerateOptions sizes{
            .actors = p, .microbatches = m, .option = {{"variant", variant}}};
        const Metrics metrics = metrics_of("zb_v", sizes, "F=1,I=1,W=1");
        EXPECT_EQ(metrics.makespan, from_ms(6 * m + p - 1)) << variant << p << " " << m;
        EXPECT_NEAR(metrics.bubble_ratio_span, 0, 1e-12) << variant << p << " " << m;
        for (const ActorMetrics& actor : metrics.actors) {
          EXPECT_EQ(actor.peak_in_flight, p) << variant << p << " " << m;
        }
      }
    }
  }
}

double highest_peak(const Metrics& metrics) {
  double peak = 0;
  for (const ActorMetrics& actor : metrics.actors) peak = std::max(peak, actor.peak_in_flight);
  return peak;
}

// Bubbles in half-stage units once the pipeline fills, peaks in microbatches.
TEST(ZeroBubble, ControllableMemory) {
  for (const int p : kActors) {
    for (const int m : {2 * p, 3 * p, 5 * p + 1}) {
      const GenerateOptions sizes{.actors = p, .microbatches = m};
      const auto bubble = [&](const Metrics& metrics) { return to_ms(metrics.makespan) - 6 * m; };
      const Metrics half = metrics_of("v_half", sizes, "F=1,I=1,W=1");
      const Metrics min = metrics_of("v_min", sizes, "F=1,I=1,W=1");
      const Metrics unsplit = metrics_of("1f1b_v", sizes, "F=1,B=2");
      if (p >= 4 && p % 2 == 0) {
        EXPECT_EQ(bubble(half), 3 * p - 7) << p << " " << m;
      }
      if (p >= 2) {
        EXPECT_EQ(bubble(min), 4 * p - (p % 3 == 0 ? 7 : 5)) << p << " " << m;
      }
      EXPECT_EQ(highest_peak(half), (p + 2) / 2) << p << " " << m;
      EXPECT_EQ(highest_peak(min), (p + 4) / 3) << p << " " << m;
      EXPECT_EQ(highest_peak(unsplit), 2 * p / 3 + 1) << p << " " << m;
    }
  }
}

// The limits hold however few microbatches there are.
TEST(ZeroBubble, PeaksStayWithinTheRule) {
  for (int p = 1; p <= 12; ++p) {
    for (int m = 1; m <= 3 * p; ++m) {
      const GenerateOptions sizes{.actors = p, .microbatches = m};
      const auto peak = [&](const char* name) {
        return highest_peak(metrics_of(name, sizes, "F=1,B=2,I=1,W=1"));
      };
      EXPECT_LE(peak("zb_h1"), std::min(m, p));
      EXPECT_LE(peak("zb_h2"), std::min(m, 2 * p - 1));
      EXPECT_LE(peak("zb_v"), std::min(m, p));
      EXPECT_LE(peak("v_half"), std::min(m, (p + 2) / 2)) << p << " " << m;
      EXPECT_LE(peak("v_min"), std::min(m, (p + 4) / 3)) << p << " " << m;
      EXPECT_LE(peak("1f1b_v"), std::min(m, 2 * p / 3 + 1)) << p << " " << m;
    }
  }
}

// Recomputing the forward in both halves of a split backward costs one more forward than in a whole
// one: with few microbatches the smaller bubble is worth it, with many it is not.
TEST(ZeroBubble, TwoRecomputesPayWhileThePipelineIsShort) {
  const auto makespan = [](const char* name, int microbatches, const char* costs) {
    return makespan_ms(simulated(name, {.actors = 4, .microbatches = microbatches}, costs));
  };
  const auto gain = [&](int microbatches) {
    return makespan("1f1b", microbatches, "F=1,B=3") -
           makespan("zb_h1", microbatches, "F=1,I=2,W=2");
  };
  EXPECT_GT(gain(4), 0);
  for (const int m : {8, 9, 12, 16, 64}) EXPECT_LT(gain(m), 0) << m;
}

}  // namespace
}  // namespace penstock
