// Local learning and inference: closed formulas, and PPLL's queues as recurrences.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios.h"

namespace penstock {
namespace {

constexpr int kActors[] = {1, 2, 3, 4, 8};
constexpr int kMicrobatches[] = {1, 2, 3, 8, 17};

Metrics measured(const char* name, int actors, int microbatches,
                 std::map<std::string, std::string> option, const std::string& costs) {
  return measure(simulated(
      name, {.actors = actors, .microbatches = microbatches, .option = std::move(option)}, costs));
}

TEST(LocalLearning, GreedyFillsWithForwardsAlone) {
  for (const int p : kActors) {
    for (const int m : kMicrobatches) {
      const Metrics metrics = measured("local", p, m, {}, "F=1,B=2.5,latency=0.25");
      EXPECT_EQ(metrics.makespan, from_ms(1.25 * (p - 1) + 3.5 * m)) << p << " " << m;
      for (const ActorMetrics& actor : metrics.actors) EXPECT_EQ(actor.peak_in_flight, 1);
    }
  }
}

// Windows of w stages are pipelines of w, one behind the other.
TEST(LocalLearning, ChunksFillTheirOwnWindow) {
  for (const int w : {1, 2, 4}) {
    for (const int p : {4, 8}) {
      for (const int m : kMicrobatches) {
        const Metrics metrics = measured("local", p, m, {{"window", std::to_string(w)}}, "F=1,B=2");
        EXPECT_EQ(metrics.makespan, from_ms((p - w) + 3.0 * (m + w - 1))) << p << " " << w << m;
        EXPECT_EQ(metrics.actors[0].peak_in_flight, std::min(m, w));
      }
    }
  }
}

// The first weight gradient of a stage waits one hop; nothing else does.
TEST(LocalLearning, OverlappingWindowsOfTwoWaitOneHop) {
  for (const int p : {2, 3, 4, 8}) {
    for (const int m : kMicrobatches) {
      const Metrics metrics =
          measured("local", p, m, {{"variant", "overlapping"}}, "F=1,I=1,W=1,B=2");
      const double end = 3.0 * m + (p - 1);
      EXPECT_GE(metrics.makespan, from_ms(end));
      EXPECT_LE(metrics.makespan, from_ms(end + 3)) << p << " " << m;
    }
  }
}

// Section 7.3 of the families' comparison: the shorter the way back, the shorter the step.
TEST(LocalLearning, GreedyOverlappingChunkedBackprop) {
  for (const int p : {4, 8}) {
    for (const int m : {4, 16}) {
      const auto makespan = [&](std::map<std::string, std::string> option) {
        return measured("local", p, m, std::move(option), "F=1,I=1,W=1,B=2").makespan;
      };
      const Nanoseconds greedy = makespan({{"variant", "greedy"}});
      const Nanoseconds overlapping = makespan({{"variant", "overlapping"}});
      const Nanoseconds chunked = makespan({{"variant", "chunked"}, {"window", "4"}});
      const Nanoseconds backprop = makespan({{"window", std::to_string(p)}});
      EXPECT_LE(greedy, overlapping);
      EXPECT_LE(overlapping, chunked);
      EXPECT_LE(chunked, backprop);
      EXPECT_EQ(backprop, from_ms(3.0 * (m + p - 1)));
    }
  }
}

TEST(Inference, IsThePipelineOfItsForwards) {
  for (const int p : kActors) {
    for (const int m : kMicrobatches) {
      const Metrics metrics = measured("forward_only", p, m, {}, "F=1,latency=0.5");
      EXPECT_EQ(metrics.makespan, from_ms(m + 1.5 * (p - 1)));
      for (const ActorMetrics& actor : metrics.actors) EXPECT_EQ(actor.peak_in_flight, 1);
    }
    for (const int rounds : {1, 2, 5}) {
      const Timeline timeline =
          simulated("forward_only", {.actors = p, .chunks = 3, .microbatches = p * rounds}, "F=1");
      EXPECT_EQ(measure(timeline).makespan, from_ms(3.0 * p * rounds + p - 1));
    }
  }
}

struct StageTimes {
  Nanoseconds forward;
  Nanoseconds backward;
  Nanoseconds latency;
};

// S(k,i) = max(U(k,i-1), P(k-1,i) + d), F = S + f, P = max(F, S(k+1,i-c)), U = P + b: when stage k
// starts item i, has made its result, has found room for it in the queue and has learnt from it.
Nanoseconds recurrence(const std::vector<StageTimes>& stages, int items, int capacity) {
  const std::size_t count = stages.size();
  std::vector<std::vector<Nanoseconds>> start(count), pushed(count), over(count);
  Nanoseconds last = 0;
  for (int i = 0; i < items; ++i) {
    const auto item = static_cast<std::size_t>(i);
    for (std::size_t k = 0; k < count; ++k) {
      Nanoseconds begin = i > 0 ? over[k].back() : 0;
      if (k > 0) begin = std::max(begin, pushed[k - 1][item] + stages[k - 1].latency);
      start[k].push_back(begin);
      Nanoseconds room = begin + stages[k].forward;
      if (k + 1 < count && i >= capacity) {
        room = std::max(room, start[k + 1][item - static_cast<std::size_t>(capacity)]);
      }
      pushed[k].push_back(room);
      over[k].push_back(room + stages[k].backward);
      last = std::max(last, over[k].back());
    }
  }
  return last;
}

TEST(Queues, AreTheRecurrencesOfPpll) {
  std::mt19937 random(7);
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  for (int round = 0; round < 300; ++round) {
    const int p = 1 + below(6);
    const int items = 1 + below(20);
    const int capacity = 1 + below(4);
    std::vector<StageTimes> stages;
    CostTable costs;
    for (int k = 0; k < p; ++k) {
      const StageTimes times{below(100), below(200), below(50)};
      StageCosts stage;
      stage.op[static_cast<std::size_t>(OpKind::Forward)] = Duration{.base = times.forward};
      stage.op[static_cast<std::size_t>(OpKind::Backward)] = Duration{.base = times.backward};
      stage.message.latency = times.latency;
      costs.stages.push_back(stage);
      stages.push_back(times);
    }
    const Schedule schedule = generate(
        "local", {.actors = p,
                  .microbatches = items,
                  .option = {{"variant", "ppll"}, {"capacity", std::to_string(capacity)}}});
    const Program program = lowered(schedule);
    const Nanoseconds expected = recurrence(stages, items, capacity);
    const Timeline timeline = simulate(program, costs);
    EXPECT_EQ(measure(timeline).makespan + timeline.spans.front().start, expected)
        << p << " " << items << " " << capacity;
    EXPECT_EQ(sweep_makespan(program, costs), expected);
  }
}

// fill + N period, whatever the capacity; a slow stage holds up those before it only as far as the
// queue is short, and never beyond its own pace.
TEST(Queues, ASlowStageSetsThePace) {
  for (const int capacity : {1, 2, 4}) {
    const Program program = lowered(generate(
        "local", {.actors = 4,
                  .microbatches = 64,
                  .option = {{"variant", "ppll"}, {"capacity", std::to_string(capacity)}}}));
    CostTable costs = parse_costs("F=1,B=2.4", 4);
    EXPECT_EQ(measure(simulate(program, costs)).makespan, from_ms(3 + 64 * 3.4));
    costs.stages[2].op[0] = Duration{.base = from_ms(2)};
    EXPECT_EQ(measure(simulate(program, costs)).makespan, from_ms(2 + 63 * 4.4 + 2 + 3.4))
        << capacity;
  }
}

// Over learning one block after the other, the pipeline gains the blocks' sum over their longest:
// what PPLL publishes for four GPUs, 2.62 (ViT) and 1.33 (ResNet), are blocks of which the longest
// takes 1.53 and 3 times the mean.
TEST(Queues, ThePublishedGainsAreBalances) {
  const auto gain = [](double longest) {
    const int items = 4096;
    const Program program = lowered(
        generate("local", {.actors = 4, .microbatches = items, .option = {{"variant", "ppll"}}}));
    CostTable costs = parse_costs("F=1,B=2", 4);
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const double part = k == 1 ? longest : (4 - longest) / 3;
      sum += 3 * part;
      costs.stages[k].op[0] = Duration{.base = from_ms(part)};
      costs.stages[k].op[1] = Duration{.base = from_ms(2 * part)};
    }
    return static_cast<double>(from_ms(sum * items)) /
           static_cast<double>(measure(simulate(program, costs)).makespan);
  };
  EXPECT_NEAR(gain(1), 4, 0.01);
  EXPECT_NEAR(gain(1.53), 2.62, 0.01);
  EXPECT_NEAR(gain(3), 1.33, 0.01);
}

TEST(Queues, TimeSpentWaitingForRoomIsBlocked) {
  const Program program = lowered(generate(
      "local",
      {.actors = 2, .microbatches = 6, .option = {{"variant", "ppll"}, {"capacity", "1"}}}));
  CostTable costs = parse_costs("F=1,B=1", 2);
  costs.stages[1].op[1] = Duration{.base = from_ms(5)};
  const Timeline timeline = simulate(program, costs);
  const Metrics metrics = measure(timeline);
  const auto blocked = static_cast<std::size_t>(IdleCause::Blocked);
  EXPECT_GT(metrics.actors[0].idle[blocked], 0);
  EXPECT_EQ(metrics.actors[1].idle[blocked], 0);
  const Timeline open =
      simulate(lowered(generate("local", {.actors = 2, .microbatches = 6})), costs);
  EXPECT_EQ(measure(open).actors[0].idle[blocked], 0);
  EXPECT_EQ(measure(open).makespan, metrics.makespan);
}

}  // namespace
}  // namespace penstock
