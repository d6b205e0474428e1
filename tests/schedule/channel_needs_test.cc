#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../generate_near.h"
#include "penstock/generate.h"
#include "penstock/program.h"
#include "tables.h"

namespace penstock {
namespace {

using Key = std::tuple<std::int32_t, std::int32_t, OpKind>;

// All computes that must have run when compute `last` has: an actor's earlier ones, and through
// awaited messages. A pair ends together.
std::set<std::int32_t> history(const Program& program, std::int32_t last) {
  std::set<std::int32_t> seen;
  std::vector<std::int32_t> todo{last};
  const auto& computes = program.computes;
  const auto size = static_cast<std::int32_t>(computes.size());
  while (!todo.empty()) {
    const std::int32_t i = todo.back();
    todo.pop_back();
    if (!seen.insert(i).second) continue;
    const Compute& compute = computes[static_cast<std::size_t>(i)];
    for (std::int32_t k = i - 1; k >= 0; --k) {
      if (computes[static_cast<std::size_t>(k)].actor != compute.actor) continue;
      todo.push_back(k);
      break;
    }
    if (i + 1 < size && computes[static_cast<std::size_t>(i + 1)].overlaps_previous) {
      todo.push_back(i + 1);
    }
    if (compute.awaits >= 0) {
      todo.push_back(program.messages[static_cast<std::size_t>(compute.awaits)].producer);
    }
  }
  return seen;
}

// The bound the slow way: for each message, how many of its channel are out and not surely
// consumed when it leaves.
std::map<Key, std::int32_t> pending(const Program& program) {
  std::map<Key, std::int32_t> most;
  for (const Message& last : program.messages) {
    const std::set<std::int32_t> done = history(program, last.producer);
    std::int32_t out = 0;
    for (const Message& message : program.messages) {
      if (message.from == last.from && message.to == last.to && message.kind == last.kind &&
          message.number <= last.number && !done.contains(message.consumer)) {
        ++out;
      }
    }
    std::int32_t& bound = most[{last.from, last.to, last.kind}];
    bound = std::max(bound, out);
  }
  return most;
}

// By hand: the last backwards are held up by no forward any more, so one more gradient is out.
TEST(ChannelNeeds, OfOneForwardOneBackward) {
  const Program program = lower(generate("1f1b", {.actors = 3, .microbatches = 6}));
  using enum OpKind;
  EXPECT_THAT(channel_needs(program), testing::ElementsAre(ChannelNeed{0, 1, Forward, 6, 1, 3},
                                                           ChannelNeed{1, 0, Backward, 6, 1, 3},
                                                           ChannelNeed{1, 2, Forward, 6, 1, 2},
                                                           ChannelNeed{2, 1, Backward, 6, 1, 2}));
}

TEST(ChannelNeeds, OfGpipeAreAllMicrobatches) {
  for (const ChannelNeed& need :
       channel_needs(lower(generate("gpipe", {.actors = 4, .microbatches = 7})))) {
    EXPECT_EQ(need.messages, 7);
    EXPECT_EQ(need.pending, 7);
  }
}

class Needs : public testing::TestWithParam<const char*> {};

void expect_agreement(const Program& program) {
  std::map<Key, std::int32_t> found;
  for (const ChannelNeed& need : channel_needs(program)) {
    found[{need.from, need.to, need.kind}] = need.pending;
    EXPECT_GE(need.posted, 1);
    EXPECT_LE(need.posted, need.messages);
  }
  EXPECT_EQ(found, pending(program));
}

TEST_P(Needs, AgreeWithHappensBefore) {
  expect_agreement(lower(schedule_of(read_rows(GetParam()))));
}

TEST(ChannelNeeds, OfTheCatalogueAgreeWithHappensBefore) {
  for (const Generator& generator : generators()) {
    SCOPED_TRACE(generator.name);
    for (const std::int32_t actors : {2, 4}) {
      const auto schedule =
          generate_near(generator.name, {.actors = actors, .chunks = 2, .microbatches = 4});
      ASSERT_TRUE(schedule);
      expect_agreement(lower(*schedule));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Needs,
                         testing::Values("torch/1f1b_p4_m8.compute.csv",
                                         "torch/gpipe_p4_m4.compute.csv",
                                         "torch/interleaved1f1b_p4_v2_m8.compute.csv",
                                         "torch/looped_bfs_p2_v2_m4.compute.csv",
                                         "torch/zbv_p4_m8.compute.csv",
                                         "torch/dualpipev_p4_m8.compute.csv",
                                         "other/eager1f1b_p4_m8.csv", "other/zb-h2_p4_m8.csv",
                                         "other/V-Min_p4_m8.csv", "other/seq1f1b_p4_m4_k2.csv"));

TEST(PeakPendingReceives, CountsWhatIsPostedAhead) {
  const Program program = lower(schedule_of("0F0 0F1 0B1 0B0\n1F0 1F1 1B1 1B0"));
  EXPECT_THAT(peak_pending_receives(program), testing::ElementsAre(1, 1));
  const Program gpipe = lower(generate("gpipe", {.actors = 2, .microbatches = 4}));
  EXPECT_THAT(peak_pending_receives(gpipe), testing::ElementsAre(1, 1));
}

}  // namespace
}  // namespace penstock
