// Steps that overlap, because updates are verified in the next step.
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "dependencies.h"
#include "random_schedules.h"
#include "scenarios.h"

namespace penstock {
namespace {

std::optional<Program> validated(const Schedule& schedule,
                                 MessagePlacement placement = MessagePlacement::Linear) {
  try {
    return lower(schedule,
                 {.placement = placement, .synchronization = Synchronization::PostValidation});
  } catch (const Error&) {
    return std::nullopt;
  }
}

Timeline steady(const std::string& name, const GenerateOptions& sizes, const std::string& costs) {
  const Program program = *validated(generate(name, sizes));
  return simulate(program, parse_costs(costs, stages_of(program)));
}

// Zero Bubble Pipeline Parallelism (arXiv 2401.10241): F=I=W=1. H2 has no bubble but the flush's,
// p - 1 forwards; ZB-V likewise at half the memory. H1 keeps (p - 1)(F + I - W) of its own.
TEST(PostValidation, RemovesTheFlushBubble) {
  const std::string costs = "F=1,B=2,I=1,W=1";
  for (const std::int32_t p : {2, 4, 8}) {
    const std::int32_t m = 3 * p;
    const GenerateOptions sizes{.actors = p, .microbatches = m};
    EXPECT_EQ(makespan_ms(steady("zb_h2", sizes, costs)), 3 * m);
    EXPECT_EQ(makespan_ms(simulated("zb_h2", sizes, costs)), 3 * m + p - 1);
    EXPECT_EQ(makespan_ms(steady("zb_h1", sizes, costs)), 3 * m + p - 1);
    EXPECT_EQ(makespan_ms(steady("1f1b", sizes, costs)), 3 * (m + p - 1));
    EXPECT_EQ(makespan_ms(steady("gpipe", sizes, costs)), 3 * (m + p - 1));
    const GenerateOptions chunks{.actors = p, .chunks = 2, .microbatches = m};
    EXPECT_EQ(makespan_ms(steady("zb_v", chunks, costs)), 6 * m);
  }
}

// Updates are work of their actors; nobody waits for those of others.
TEST(PostValidation, UpdatesAddUpToBusyTime) {
  const Timeline timeline =
      steady("zb_h2", {.actors = 4, .microbatches = 12}, "F=1,B=2,I=1,W=1,update=2");
  const Metrics metrics = measure(timeline);
  EXPECT_EQ(to_ms(metrics.makespan), 3 * 12 + 2);
  EXPECT_EQ(metrics.utilization, 1);
  EXPECT_EQ(metrics.bubble_ratio, 0);
}

// Two actors, one microbatch. Actor 0: F, verdict (at once: the last actor has long ended), B, its
// own norm, update; the period is that of the loop 0F 1F 1B 0B, norm and update of actor 0.
TEST(PostValidation, PeriodOfTwoActorsByHand) {
  const Timeline timeline =
      steady("1f1b", {.actors = 2, .microbatches = 1}, "F=1,B=2,latency=0.25,norm=0.5,update=1");
  EXPECT_EQ(makespan_ms(timeline), 1 + 0.25 + 1 + 2 + 0.25 + 2 + 0.5 + 1);
}

// A step of its own, as a second computation: actor after actor goes on as far as it can, over
// many steps.
class ByHand {
 public:
  ByHand(const RandomSchedule& random, const CostTable& costs)
      : random_(random), costs_(costs), pipeline_(random.schedule.pipeline) {
    for (const StageCosts& stage : costs.stages) {
      latency_ = std::max(latency_, stage.message.latency);
    }
  }

  // When actor 0 begins each of so many steps.
  std::vector<Nanoseconds> begins(std::int32_t steps) {
    std::vector<Nanoseconds> begins;
    std::vector<Nanoseconds> lanes(random_.schedule.order.size(), 0);
    for (std::int32_t step = 0; step < steps; ++step) {
      begins.push_back(lanes[0]);
      run(lanes);
    }
    return begins;
  }

 private:
  struct Done {
    Nanoseconds end = 0;
    bool speculative = false;
  };

  // Within a step nothing needs another step's but the lanes' ends.
  void run(std::vector<Nanoseconds>& lanes) {
    done_.clear();
    verdict_ = lanes.back() + latency_;
    const std::size_t actors = lanes.size();
    std::vector<std::size_t> next(actors, 0);
    std::vector<bool> open(actors, true);
    open.back() = false;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t a = 0; a < actors; ++a) {
        while (take(a, lanes[a], next[a], open)) moved = true;
      }
    }
    Nanoseconds norms = 0;
    for (std::size_t a = 0; a < actors; ++a) {
      if (open[a]) lanes[a] = std::max(lanes[a], verdict_);
      lanes[a] = std::max(lanes[a] + costs_.global_norm, norms);
      norms = lanes[a] + latency_;
      for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
        if (pipeline_.stages[s].actor == static_cast<std::int32_t>(a)) {
          lanes[a] += costs_.stages[s].update;
        }
      }
    }
  }

  // The actor's next op, or pair, if its inputs are there.
  bool take(std::size_t actor, Nanoseconds& lane, std::size_t& next, std::vector<bool>& open) {
    const std::vector<Step>& order = random_.schedule.order[actor];
    if (next == order.size()) return false;
    const std::size_t first = next;
    std::size_t end = first + 1;
    while (end < order.size() && order[end].overlaps_previous) ++end;
    Nanoseconds start = lane;
    Nanoseconds duration = 0;
    bool speculative = open[actor];
    for (std::size_t i = first; i < end; ++i) {
      const Op& op = order[i].op;
      duration += costs_.duration(op);
      speculative = speculative && op.kind == OpKind::Forward;
      if (op.kind == OpKind::Recompute) continue;
      for (const Op& input : needs(pipeline_, random_.splits, op)) {
        const auto found = done_.find(input);
        if (found == done_.end()) return false;
        start = std::max(start, found->second.end + delay(input, op));
        speculative = speculative && found->second.speculative;
      }
    }
    if (open[actor] && !speculative) start = std::max(start, verdict_);
    open[actor] = speculative;
    if (end - first > 1) duration = costs_.overlap_fb.value_or(duration);
    lane = start + duration;
    for (; next < end; ++next) done_[order[next].op] = {lane, speculative};
    return true;
  }

  Nanoseconds delay(const Op& from, const Op& to) const {
    const auto stage = [](const Op& op) { return static_cast<std::size_t>(op.stage); };
    if (pipeline_.stages[stage(from)].actor == pipeline_.stages[stage(to)].actor) return 0;
    return costs_.stages[stage(from.kind == OpKind::Forward ? from : to)].message.latency;
  }

  const RandomSchedule& random_;
  const CostTable& costs_;
  const Pipeline& pipeline_;
  Nanoseconds latency_ = 0;
  Nanoseconds verdict_ = 0;
  std::map<Op, Done> done_;
};

RC_GTEST_PROP(PostValidationProperty, PeriodIsThatOfManySteps, ()) {
  const RandomSchedule random = random_schedule(*rc::gen::arbitrary<std::uint64_t>());
  const auto program = validated(random.schedule);
  RC_PRE(program.has_value());
  RC_PRE(has_verdict(*program));
  const CostTable costs =
      random_costs(random.schedule, *rc::gen::arbitrary<std::uint64_t>(), {.step_end = true});
  const Timeline timeline = simulate(*program, costs);
  constexpr std::size_t kSettled = 512;
  constexpr std::size_t kCycle = 24;  // a multiple of every short one
  const std::vector<Nanoseconds> begins = ByHand(random, costs).begins(kSettled + kCycle + 1);
  RC_ASSERT(timeline.period == (begins.back() - begins[kSettled]) / Nanoseconds{kCycle});
}

RC_GTEST_PROP(PostValidationProperty, BusyAndIdleAddUpToThePeriod, ()) {
  const RandomSchedule random = random_schedule(*rc::gen::arbitrary<std::uint64_t>());
  const auto program = validated(random.schedule);
  RC_PRE(program.has_value());
  RC_PRE(has_verdict(*program));
  const CostTable costs = random_costs(random.schedule, *rc::gen::arbitrary<std::uint64_t>(),
                                       {.bandwidth = true, .step_end = true});
  for (const P2p mode : {P2p::Async, P2p::SingleStream, P2p::Blocking}) {
    const Timeline timeline = simulate(*program, costs, {.p2p = mode});
    const Metrics metrics = measure(timeline);
    RC_ASSERT(metrics.makespan == timeline.period);
    for (const ActorMetrics& actor : metrics.actors) {
      Nanoseconds sum = actor.busy;
      for (const Nanoseconds idle : actor.idle) sum += idle;
      RC_ASSERT(sum == metrics.makespan);
    }
    const std::vector<CriticalLink> path = critical_path(timeline);
    for (std::size_t i = 1; i < path.size(); ++i) RC_ASSERT(path[i - 1].end <= path[i].start);
  }
}

// Nobody waits longer than for a flush where messages take no time and norms cost nothing.
RC_GTEST_PROP(PostValidationProperty, IsNoSlowerThanAFlush, ()) {
  const RandomSchedule random = random_schedule(*rc::gen::arbitrary<std::uint64_t>());
  const auto program = validated(random.schedule);
  RC_PRE(program.has_value());
  RC_PRE(has_verdict(*program));
  CostTable costs = random_costs(random.schedule, *rc::gen::arbitrary<std::uint64_t>(), {});
  for (StageCosts& stage : costs.stages) stage.message.latency = 0;
  const Nanoseconds flush = measure(simulate(lower(random.schedule), costs)).makespan;
  const Metrics overlapped = measure(simulate(*program, costs));
  RC_ASSERT(overlapped.makespan <= flush);
  for (const ActorMetrics& actor : overlapped.actors) RC_ASSERT(actor.busy <= overlapped.makespan);
}

}  // namespace
}  // namespace penstock
