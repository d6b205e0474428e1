// What the p2p modes, pairs, the step's end and the disturbances do, on cases small enough to
// follow by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/formats.h"
#include "scenarios.h"

namespace penstock {
namespace {

constexpr std::size_t kWarmUp = static_cast<std::size_t>(IdleCause::WarmUp);
constexpr std::size_t kDrain = static_cast<std::size_t>(IdleCause::Drain);
constexpr std::size_t kDependency = static_cast<std::size_t>(IdleCause::Dependency);
constexpr std::size_t kP2p = static_cast<std::size_t>(IdleCause::P2p);
constexpr std::size_t kCollective = static_cast<std::size_t>(IdleCause::Collective);
constexpr std::size_t kBlocked = static_cast<std::size_t>(IdleCause::Blocked);

Timeline run(const Program& program, const std::string& costs,
             const SimulateOptions& options = {}) {
  return simulate(program, parse_costs(costs, stages_of(program)), options);
}

const Span& span_of(const Timeline& timeline, const std::string& op) {
  for (const Span& span : timeline.spans) {
    if (span.kind == ActionKind::Compute && to_string(span.op) == op) return span;
  }
  ADD_FAILURE() << op;
  return timeline.spans.front();
}

double idle_ms(const Metrics& metrics, std::size_t actor, std::size_t cause) {
  return to_ms(metrics.actors[actor].idle[cause]);
}

// Two messages of 2 ms share a channel: 1..3 and 3..5 forward, 7..9 and 9..11 backward.
TEST(Async, MessagesQueueOnTheirChannel) {
  const Timeline timeline =
      simulated("gpipe", {.actors = 2, .microbatches = 2}, "F=1,B=1,bytes=2000000,bandwidth=1e9");
  EXPECT_EQ(span_of(timeline, "1F0").start, from_ms(3));
  EXPECT_EQ(span_of(timeline, "1F1").start, from_ms(5));
  EXPECT_EQ(span_of(timeline, "0B1").end, from_ms(12));
  const Metrics metrics = measure(timeline);
  EXPECT_EQ(idle_ms(metrics, 0, kDependency), 5);  // 2..7, until 1B0 ended
  EXPECT_EQ(idle_ms(metrics, 0, kP2p), 3);         // 7..9 and 10..11
  EXPECT_EQ(idle_ms(metrics, 1, kWarmUp), 3);
  EXPECT_EQ(idle_ms(metrics, 1, kP2p), 1);    // 4..5
  EXPECT_EQ(idle_ms(metrics, 1, kDrain), 4);  // 8..12
}

// Latency delays and does not occupy: both messages are on their way at once.
TEST(Async, LatencyDoesNotOccupy) {
  const Timeline timeline =
      simulated("gpipe", {.actors = 2, .microbatches = 2}, "F=1,B=1,latency=2");
  EXPECT_EQ(span_of(timeline, "1F0").start, from_ms(3));
  EXPECT_EQ(span_of(timeline, "1F1").start, from_ms(4));
}

// Microbatch 2 overtakes 1 on actor 1, and its message queues behind 1's: on the channel 7..10.
TEST(Async, WaitingForABusyChannelIsBlocked) {
  const Program program =
      lowered(parse("0: 0F0 0F1 0F2 0B0 0B1 0B2\n"
                    "1: 1F0 1F2 1F1 1B0 1B1 1B2"));
  const Timeline timeline = run(program, "F=1,B=1,bytes=3000000,bandwidth=1e9");
  EXPECT_EQ(span_of(timeline, "1F2").start, from_ms(10));
  const Metrics metrics = measure(timeline);
  EXPECT_EQ(idle_ms(metrics, 1, kBlocked), 2);  // 5..7
  EXPECT_EQ(idle_ms(metrics, 1, kP2p), 3);      // 7..10
}

// Actor 1's stream holds the receive of 0F1 behind its send of 1F0's activation, and so on: what
// async overlaps is serialised.
TEST(SingleStream, HeadOfLineBlocking) {
  const GenerateOptions sizes{.actors = 2, .chunks = 2, .microbatches = 4};
  const std::string costs = "F=1,B=2,latency=0.5";
  const Nanoseconds async = measure(simulated("interleaved_1f1b", sizes, costs)).makespan;
  const Nanoseconds stream =
      measure(simulated("interleaved_1f1b", sizes, costs, {.p2p = P2p::SingleStream})).makespan;
  EXPECT_GT(stream, async);
}

// A receive that is queued early holds back a send that is ready. Actor 1 receives 0F1 (ready at 6)
// before it sends 1F0's activation (ready at 2): actor 2 starts at 6 instead of at 2.
TEST(SingleStream, AnEarlyReceiveHoldsBackASend) {
  Program program =
      lowered(parse("0: 0F0 0F1 0B0 0B1\n"
                    "1: 1F0 1F1 1B0 1B1\n"
                    "2: 2F0 2F1 2B0 2B1"));
  CostTable costs = parse_costs("F=1,B=1", 3);
  costs.stages[0].op[0] =
      Duration{.varied = {{from_ms(1)}, {from_ms(5)}}, .microbatch_varies = true};
  EXPECT_EQ(span_of(simulate(program, costs), "2F0").start, from_ms(2));
  // The receive of 0F1 to the front of actor 1's list, behind that of 0F0.
  std::vector<Action>& list = program.actions[1];
  const auto late = std::find_if(list.begin() + 1, list.end(),
                                 [](const Action& a) { return a.kind == ActionKind::Receive; });
  std::rotate(list.begin() + 1, late, late + 1);
  EXPECT_EQ(span_of(simulate(program, costs), "2F0").start, from_ms(2));
  const Timeline timeline = simulate(program, costs, {.p2p = P2p::SingleStream});
  EXPECT_EQ(span_of(timeline, "2F0").start, from_ms(6));
}

// A hop of 1 holds both lanes: F 0..1, hop 1..2, F B 2..5, hop 5..6, B 6..8.
TEST(Blocking, ATransferHoldsBothLanes) {
  const Timeline timeline = simulated("1f1b", {.actors = 2, .microbatches = 1}, "F=1,B=2,latency=1",
                                      {.p2p = P2p::Blocking});
  EXPECT_EQ(span_of(timeline, "1F0").start, from_ms(2));
  EXPECT_EQ(span_of(timeline, "0B0").start, from_ms(6));
  EXPECT_EQ(makespan_ms(timeline), 8);
}

// 0F0 0..1 meets actor 1 at once; 0F1 1..2 meets it only after 1F0 1..2 and 1B0 2..4, and the
// gradient of 1B0 goes in the same batch.
TEST(Blocking, TheSenderWaitsForTheReceiver) {
  const Program program = lowered(parse("0: 0F0 0F1 0B0 0B1\n"
                                        "1: 1F0 1B0 1F1 1B1"),
                                  MessagePlacement::Paired);
  const Timeline timeline = run(program, "F=1,B=2", {.p2p = P2p::Blocking});
  EXPECT_EQ(span_of(timeline, "0F1").start, from_ms(1));
  EXPECT_EQ(span_of(timeline, "0B0").start, from_ms(4));
  EXPECT_EQ(span_of(timeline, "1F1").start, from_ms(4));
}

// Receives right before their consumers, sends right behind their producers: the order that each
// actor would write by itself.
Program naive(Program program) {
  for (std::vector<Action>& list : program.actions) {
    std::vector<Action> rewritten;
    for (const Action& action : list) {
      if (action.kind == ActionKind::Receive) continue;
      if (action.kind == ActionKind::Compute) {
        const std::int32_t input = program.computes[static_cast<std::size_t>(action.index)].awaits;
        if (input >= 0) rewritten.push_back({ActionKind::Receive, input});
      }
      rewritten.push_back(action);
    }
    list = std::move(rewritten);
  }
  return program;
}

// The column naive/grouped of a published-order deadlock study: these get stuck, those do not.
TEST(Blocking, DeadlocksAreErrorsThatNameTheRing) {
  for (const char* name : {"gpipe", "1f1b", "eager_1f1b"}) {
    const Program program = naive(lowered(generate(name, {.actors = 4, .microbatches = 8})));
    EXPECT_NO_THROW(run(program, "F=1,B=2", {.p2p = P2p::Blocking})) << name;
  }
  for (const char* name : {"looped_bfs", "interleaved_1f1b"}) {
    const Program program =
        naive(lowered(generate(name, {.actors = 4, .chunks = 2, .microbatches = 8})));
    try {
      run(program, "F=1,B=2", {.p2p = P2p::Blocking});
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      const std::string what = error.problems().front().what;
      EXPECT_THAT(what, testing::HasSubstr("deadlock")) << name;
      EXPECT_THAT(what, testing::ContainsRegex("actor [0-3] waits for actor [0-3] to receive the "
                                               "(activation|gradient) of [0-9]+[FB][0-9]+"));
    }
    EXPECT_NO_THROW(run(program, "F=1,B=2")) << "async never gets stuck";
  }
}

TEST(Pair, StartsTogetherAndPublishesAtItsEnd) {
  const Program program =
      lowered(parse("0: 0F0 0F1 (0F2;0B0) 0B1 0B2\n"
                    "1: 1F0 1B0 1F1 1B1 1F2 1B2"));
  // 0F1 ends at 2; the gradient of 1B0 is there at 4; the pair takes 3 or what is given.
  const Timeline sum = run(program, "F=1,B=2");
  EXPECT_EQ(span_of(sum, "0F2").start, from_ms(4));
  EXPECT_EQ(span_of(sum, "0B0").start, from_ms(4));
  EXPECT_EQ(span_of(sum, "0F2").end, from_ms(7));
  EXPECT_EQ(span_of(sum, "1F2").start, from_ms(7));
  EXPECT_EQ(to_ms(measure(sum).actors[0].busy), 9);
  const Timeline given = run(program, "F=1,B=2,overlap=2.5");
  EXPECT_EQ(span_of(given, "0B0").end, from_ms(6.5));
  EXPECT_EQ(to_ms(measure(given).actors[0].busy), 8.5);
}

// 0F0 0..1, 1F0 1..2, 1B0 2..4, 0B0 4..6, reduction 6..7, norm 7..7.25, update 7.25..7.75.
TEST(StepEnd, CountsInTheMakespan) {
  const Program program =
      lower(generate("1f1b", {.actors = 2, .microbatches = 1}), {.shared = {{0, 1}}});
  const std::string costs = "F=1,B=2,reduce=1,norm=0.25,update=0.5";
  const Timeline timeline = run(program, costs);
  const Metrics metrics = measure(timeline);
  EXPECT_EQ(to_ms(metrics.makespan), 7.75);
  EXPECT_EQ(sweep_makespan(program, parse_costs(costs, 2)), metrics.makespan);
  for (const ActorMetrics& actor : metrics.actors) EXPECT_EQ(to_ms(actor.busy), 3.5);
  EXPECT_EQ(idle_ms(metrics, 0, kDependency), 3);
  EXPECT_EQ(idle_ms(metrics, 0, kCollective), 1.25);
  EXPECT_EQ(idle_ms(metrics, 1, kWarmUp), 1);
  EXPECT_EQ(idle_ms(metrics, 1, kDrain), 2);
  EXPECT_EQ(idle_ms(metrics, 1, kCollective), 1.25);
}

TEST(StepEnd, LeavesNoSpanWhenItIsFree) {
  const Timeline timeline = simulated("1f1b", {.actors = 2, .microbatches = 3}, "F=1,B=2");
  EXPECT_EQ(timeline.spans.size(), 12U);
}

TEST(Jitter, IsTheOpsOwn) {
  const SimulateOptions options{.jitter = 0.5, .seed = 7};
  const GenerateOptions sizes{.actors = 3, .microbatches = 5};
  const Timeline one = simulated("1f1b", sizes, "F=1,B=2", options);
  const Timeline other = simulated("gpipe", sizes, "F=1,B=2", options);
  bool varies = false;
  for (const Span& span : one.spans) {
    const Span& same = span_of(other, to_string(span.op));
    const Nanoseconds base = from_ms(span.op.kind == OpKind::Forward ? 1 : 2);
    EXPECT_EQ(span.end - span.start, same.end - same.start);
    EXPECT_GE(span.end - span.start, base);
    EXPECT_LE(span.end - span.start, base + base / 2);
    varies |= span.end - span.start > base + base / 4;
  }
  EXPECT_TRUE(varies);
  const Timeline reseeded = simulated("1f1b", sizes, "F=1,B=2", {.jitter = 0.5, .seed = 8});
  EXPECT_NE(measure(reseeded).makespan, measure(one).makespan);
}

TEST(SlowDown, IsTheActorsOwn) {
  const Timeline timeline =
      simulated("1f1b", {.actors = 2, .microbatches = 2}, "F=1,B=2", {.slow_down = {1, 2.5}});
  EXPECT_EQ(span_of(timeline, "0F0").end, from_ms(1));
  EXPECT_EQ(span_of(timeline, "1F0").end, from_ms(3.5));
}

TEST(Options, OutOfRangeIsAnError) {
  const Program program = lowered(generate("1f1b", {.actors = 2, .microbatches = 2}));
  const double nan = std::nan("");
  EXPECT_THROW(run(program, "F=1,B=2", {.jitter = -1}), Error);
  EXPECT_THROW(run(program, "F=1,B=2", {.jitter = nan}), Error);
  EXPECT_THROW(run(program, "F=1,B=2", {.slow_down = {1}}), Error);
  EXPECT_THROW(run(program, "F=1,B=2", {.slow_down = {1, 0}}), Error);
  EXPECT_THROW(run(program, "F=1,B=2", {.slow_down = {nan, 1}}), Error);
}

// 2000 ops of 1e15 ns do not fit the clock.
TEST(Options, AStepThatCouldOverflowIsAnError) {
  const Program program = lowered(generate("gpipe", {.actors = 2, .microbatches = 1000}));
  EXPECT_THROW(run(program, "F=1e9,B=1e9"), Error);
  EXPECT_THROW(sweep_makespan(program, parse_costs("F=1e9,B=1e9", 2)), Error);
}

TEST(Memory, WeightsAndActivations) {
  const Metrics metrics = measure(
      simulated("1f1b", {.actors = 2, .microbatches = 4}, "F=1,B=2,activation=100,weight=1000"));
  EXPECT_EQ(metrics.actors[0].peak_bytes, 1200);
  EXPECT_EQ(metrics.actors[1].peak_bytes, 1100);
}

// A slice holds its share, and the shares add up.
TEST(Memory, Slices) {
  const Timeline timeline =
      run(lowered(parse("0: 0F0 0F0.1 0F0.2 0B0.2 0B0.1 0B0")), "F=1,B=2,activation=100");
  const std::vector<MemorySample> samples = memory(timeline)[0];
  std::vector<std::int64_t> bytes;
  for (const MemorySample& sample : samples) bytes.push_back(sample.bytes);
  EXPECT_THAT(bytes, testing::ElementsAre(34, 67, 100, 67, 34, 0));
  EXPECT_EQ(measure(timeline).actors[0].peak_in_flight, 1);
}

TEST(Memory, SplitBackwardHoldsUntilW) {
  const Timeline timeline = run(lowered(parse("0: 0F0 0I0 0F1 0W0 0I1 0W1")), "F=1,I=1,W=1");
  EXPECT_EQ(measure(timeline).actors[0].peak_in_flight, 2);
}

TEST(Timeline, TokensAreThoseOfAllSequences) {
  Schedule schedule = generate("1f1b", {.actors = 1, .microbatches = 2});
  for (Microbatch& microbatch : schedule.pipeline.microbatches) {
    microbatch.sequences = 3;
    microbatch.slice_tokens = {100};
  }
  const Timeline timeline = run(lowered(schedule), "F=1,B=2");
  EXPECT_EQ(timeline.tokens, 600);
  EXPECT_DOUBLE_EQ(measure(timeline).tokens_per_s.value(), 600 / 0.006);
  EXPECT_FALSE(
      measure(simulated("1f1b", {.actors = 1, .microbatches = 2}, "F=1,B=2")).tokens_per_s);
}

}  // namespace
}  // namespace penstock
