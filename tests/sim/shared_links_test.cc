// Links that the messages of several pairs of actors pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "penstock/fair_rates.h"
#include "penstock/index.h"
#include "random_schedules.h"
#include "scenarios.h"

namespace penstock {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

TEST(FairRates, ShareWhatTheNarrowLinksLeave) {
  const std::vector<std::int32_t> both = {0, 1};
  const std::vector<std::int32_t> first = {0};
  const std::vector<std::int32_t> second = {1};
  const double capacity[] = {10, 4};
  const FlowOnLinks flows[] = {{both, kUnlimited}, {first, kUnlimited}, {second, 1}, {{}, 3}};
  EXPECT_THAT(fair_rates(capacity, flows), ElementsAre(3, 7, 1, 3));
}

// Bertsekas and Gallager's definition: every flow is at its limit, or passes a link that is full
// and on which nobody gets more.
RC_GTEST_PROP(FairRates, AreMaxMinFair, ()) {
  const auto links = *rc::gen::inRange<std::int32_t>(1, 6);
  std::vector<double> capacity;
  for (std::int32_t i = 0; i < links; ++i) capacity.push_back(*rc::gen::inRange(1, 100));
  std::vector<std::vector<std::int32_t>> passed(*rc::gen::inRange<std::size_t>(1, 12));
  std::vector<FlowOnLinks> flows;
  for (std::vector<std::int32_t>& of_flow : passed) {
    for (std::int32_t i = 0; i < links; ++i) {
      if (*rc::gen::arbitrary<bool>()) of_flow.push_back(i);
    }
    flows.push_back({of_flow, static_cast<double>(*rc::gen::inRange(1, 50))});
  }
  const std::vector<double> rates = fair_rates(capacity, flows);
  std::vector<double> used(capacity.size(), 0);
  std::vector<double> most(capacity.size(), 0);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (const std::int32_t link : flows[i].links) {
      used[index(link)] += rates[i];
      most[index(link)] = std::max(most[index(link)], rates[i]);
    }
  }
  for (std::size_t i = 0; i < capacity.size(); ++i) RC_ASSERT(used[i] <= capacity[i] + 1e-9);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const bool at_limit = rates[i] >= flows[i].limit;
    const bool is_held = std::ranges::any_of(flows[i].links, [&](std::int32_t link) {
      return used[index(link)] >= capacity[index(link)] - 1e-9 &&
             rates[i] >= most[index(link)] - 1e-9;
    });
    RC_ASSERT(at_limit || is_held);
  }
}

CostTable with_links(const std::string& costs, std::int32_t stages, std::vector<SharedLink> links) {
  CostTable table = parse_costs(costs, stages);
  table.links = std::move(links);
  return table;
}

// Two actors each send 3 MB at once to actor 2's node: 1 GB/s alone, half of that together.
Schedule two_senders() {
  Schedule schedule{.name = "two senders",
                    .pipeline = {.actors = 3,
                                 .stages = {{0, 0}, {1, 0}, {2, 1}, {2, 1}},
                                 .routes = {{0, 2}, {1, 3}},
                                 .microbatches = {{.route = 0}, {.route = 1}}},
                    .order = {}};
  schedule.pipeline.learning.kind = LearningKind::ForwardOnly;
  schedule.order = {{{{OpKind::Forward, 0, 0}}},
                    {{{OpKind::Forward, 1, 1}}},
                    {{{OpKind::Forward, 2, 0}}, {{OpKind::Forward, 3, 1}}}};
  return schedule;
}

TEST(SharedLinks, TwoMessagesGetHalfEach) {
  CostTable costs = with_links("F=1,bytes=3000000,bandwidth=1e9,latency=0.5", 4,
                               {{"into node 1", 1e9, {{0, 2}, {1, 2}}}});
  costs.stages[1].message.bytes = 1'000'000;
  const Timeline timeline = simulate(lowered(two_senders()), costs);
  // Together until the short one has left: 2 ms; then the long one's last 2 MB alone.
  EXPECT_EQ(timeline.transfers[0].end, from_ms(1 + 2 + 2 + 0.5));
  EXPECT_EQ(timeline.transfers[1].end, from_ms(1 + 2 + 0.5));
}

TEST(SharedLinks, AMessageAloneKeepsToItsBoundary) {
  const CostTable costs =
      with_links("F=1,bytes=3000000,bandwidth=1e9", 4, {{"wide", 1e12, {{0, 2}, {1, 2}}}});
  const Timeline timeline = simulate(lowered(two_senders()), costs);
  EXPECT_EQ(timeline.transfers[0].end, from_ms(4));
  EXPECT_EQ(timeline.transfers[1].end, from_ms(4));
}

// A link without limit to speak of, and one for each channel as wide as the channel, change
// nothing.
RC_GTEST_PROP(SharedLinks, ThatAreWideEnoughChangeNothing, ()) {
  const RandomSchedule random = random_schedule(*rc::gen::arbitrary<std::uint64_t>());
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  CostTable costs = random_costs(random.schedule, seed, {.bandwidth = true, .step_end = true});
  const Program program = lowered(random.schedule);
  const Timeline alone = simulate(program, costs);
  SharedLink all{.name = "all", .bytes_per_s = 1e17, .channels = {}};
  for (std::int32_t from = 0; from < program.schedule.pipeline.actors; ++from) {
    for (std::int32_t to = 0; to < program.schedule.pipeline.actors; ++to) {
      if (from != to) all.channels.emplace_back(from, to);
    }
  }
  costs.links = {all};
  RC_ASSERT(simulate(program, costs) == alone);
}

// Narrower links never make a message faster than its boundary, nor a link wider than it is.
RC_GTEST_PROP(SharedLinks, CarryNoMoreThanTheyCan, ()) {
  const RandomSchedule random = random_schedule(*rc::gen::arbitrary<std::uint64_t>());
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  CostTable costs = random_costs(random.schedule, seed, {.bandwidth = true});
  const Program program = lowered(random.schedule);
  SharedLink link{.name = "half", .bytes_per_s = 1e6, .channels = {}};
  for (const Message& message : program.messages) {
    const std::pair<std::int32_t, std::int32_t> channel{message.from, message.to};
    if (std::ranges::count(link.channels, channel) == 0) link.channels.push_back(channel);
  }
  costs.links = {link};
  const Timeline timeline = simulate(program, costs);
  std::int64_t bytes = 0;
  Nanoseconds first = timeline.transfers.empty() ? 0 : timeline.transfers.front().start;
  Nanoseconds last = 0;
  for (const Transfer& transfer : timeline.transfers) {
    bytes += transfer.bytes;
    first = std::min(first, transfer.start);
    last = std::max(last, transfer.end);
    RC_ASSERT(transfer.ready <= transfer.start);
    RC_ASSERT(transfer.start <= transfer.end);
  }
  if (timeline.transfers.empty()) return;
  const auto rounding = static_cast<Nanoseconds>(timeline.transfers.size());
  RC_ASSERT(last - first + rounding >= static_cast<Nanoseconds>(static_cast<double>(bytes) * 1e3));
}

TEST(SharedLinks, AreRefusedWhereNobodySharesThem) {
  const CostTable costs = with_links("F=1,B=2,bytes=1", 2, {{"both", 1e9, {{0, 1}, {1, 0}}}});
  const Program program = lowered(generate("1f1b", {.actors = 2, .microbatches = 2}));
  EXPECT_THROW(simulate(program, costs, {.p2p = P2p::SingleStream}), Error);
  EXPECT_FALSE(can_sweep(costs));
}

TEST(SharedLinks, NameActorsOfTheSchedule) {
  const CostTable costs = with_links("F=1,B=2", 2, {{"far", 1e9, {{0, 1}, {1, 2}}}});
  const std::vector<Problem> problems =
      missing_costs(costs, generate("1f1b", {.actors = 2, .microbatches = 2}));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].what, HasSubstr("from actor 1 to actor 2: the schedule has 2 actors"));
}

TEST(SharedLinks, AreReadAsTheyAreWritten) {
  const CostTable costs = with_links("F=1,B=2", 1, {{"up", 2.5e9, {{0, 1}, {2, 1}}}, {"", 1, {}}});
  EXPECT_EQ(read_costs(write_costs(costs), "costs.json"), costs);
}

TEST(SharedLinks, EveryFaultOfAFileIsTold) {
  const char* text = R"({"stages": [{"forward_ms": 1}], "links": [
    {"bytes_per_s": 0, "channels": [[0, 1], [0, 1], [1, 1], [0], 5, [-1, 2]]},
    {"channels": 3, "width": 1}, 7]})";
  try {
    read_costs(text, "c.json");
    FAIL();
  } catch (const Error& error) {
    std::string all;
    for (const Problem& problem : error.problems())
      all += problem.where + ": " + problem.what + "\n";
    EXPECT_EQ(all, R"(c.json:/links/0/bytes_per_s: 0 is out of range
c.json:/links/0/channels/1: the pair is given twice
c.json:/links/0/channels/2: not a pair of two actors
c.json:/links/0/channels/3: not a pair of two actors
c.json:/links/0/channels/4: expected an array, found 5
c.json:/links/0/channels/5/0: -1 is out of range
c.json:/links/1/width: unknown key 'width'
c.json:/links/1: 'bytes_per_s' is missing
c.json:/links/1/channels: expected an array, found 3
c.json:/links/2: expected an object, found 7
)");
  }
}

}  // namespace
}  // namespace penstock
