#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../generate_near.h"
#include "penstock/check.h"
#include "penstock/deadlock.h"
#include "penstock/error.h"
#include "penstock/generate.h"
#include "penstock/lowering.h"
#include "penstock/program.h"
#include "tables.h"

namespace penstock {
namespace {

using testing::ElementsAre;

std::vector<Row> comms_of(const Program& program) {
  std::vector<Row> rows;
  for (const std::vector<Action>& actions : program.actions) {
    Row& row = rows.emplace_back();
    for (const Action& action : actions) row.push_back(cell_of(program, action));
  }
  return rows;
}

std::vector<Row> sorted(std::vector<Row> rows) {
  for (Row& row : rows) std::sort(row.begin(), row.end());
  return rows;
}

class Comms : public testing::TestWithParam<const char*> {};

// Blanks move torch's transfers about; without them each actor has the same cells.
TEST_P(Comms, HaveTheCellsOfTorch) {
  const std::string file = std::string("torch/") + GetParam();
  const Schedule schedule = schedule_of(read_rows(file + ".compute.csv"));
  ASSERT_THAT(check(schedule), testing::IsEmpty());
  const Program program = lower(schedule, {.step_end = false});
  EXPECT_EQ(sorted(comms_of(program)), sorted(split_pairs(read_rows(file + ".comms.csv"))));
}

INSTANTIATE_TEST_SUITE_P(Torch, Comms,
                         testing::Values("gpipe_p2_m2", "gpipe_p2_m4", "gpipe_p4_m4", "gpipe_p4_m8",
                                         "1f1b_p2_m2", "1f1b_p2_m4", "1f1b_p4_m4", "1f1b_p4_m8",
                                         "interleaved1f1b_p2_v2_m4", "interleaved1f1b_p4_v2_m3",
                                         "interleaved1f1b_p4_v2_m8", "interleaved1f1b_p4_v4_m16",
                                         "looped_bfs_p2_v2_m4", "looped_bfs_p4_v2_m3",
                                         "looped_bfs_p4_v2_m8", "looped_bfs_p4_v4_m16", "zbv_p4_m8",
                                         "dualpipev_p4_m8", "interleaved_zb1p_p4_v2_m8"));

// Every kind of action as one word: "0F1", "0SEND_F1", "reduce0", "norm", "update1".
std::vector<Row> words_of(Program program) {
  std::vector<Row> ends;
  for (std::vector<Action>& actions : program.actions) {
    Row& end = ends.emplace_back();
    std::vector<Action> body;
    for (const Action& action : actions) {
      const std::string number = std::to_string(action.index);
      switch (action.kind) {
        case ActionKind::ReduceGradients:
          end.push_back("reduce" + number);
          break;
        case ActionKind::GlobalNorm:
          end.push_back("norm");
          break;
        case ActionKind::Update:
          end.push_back("update" + number);
          break;
        default:
          EXPECT_TRUE(end.empty()) << "the step's end comes last";
          body.push_back(action);
      }
    }
    actions = body;
  }
  std::vector<Row> rows = comms_of(program);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].insert(rows[i].end(), ends[i].begin(), ends[i].end());
  }
  return rows;
}

TEST(Lower, WritesWhatEachActorDoes) {
  const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 2});
  EXPECT_THAT(words_of(lower(schedule)),
              ElementsAre(ElementsAre("0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0",
                                      "0RECV_B1", "0B1", "norm", "update0"),
                          ElementsAre("1RECV_F0", "1F0", "1RECV_F1", "1B0", "1SEND_B0", "1F1",
                                      "1B1", "1SEND_B1", "norm", "update1")));
  EXPECT_THAT(words_of(lower(schedule, {.placement = MessagePlacement::Paired})),
              ElementsAre(ElementsAre("0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0",
                                      "0RECV_B1", "0B1", "norm", "update0"),
                          ElementsAre("1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F1", "1F1",
                                      "1B1", "1SEND_B1", "norm", "update1")));
}

// Actor 1 is the higher one: it never receives early. Actor 0 receives what actor 1 has sent before
// it sends to it: 2RECV_F0 ahead of 0SEND_F1.
TEST(Lower, DefersReceivesButNotBehindASendToAHigherActor) {
  const Schedule schedule = generate("looped_bfs", {.actors = 2, .chunks = 2, .microbatches = 2});
  const auto program =
      lower(schedule, {.placement = MessagePlacement::Deferred, .step_end = false});
  EXPECT_THAT(
      comms_of(program),
      ElementsAre(
          ElementsAre("0F0", "0SEND_F0", "0F1", "2RECV_F0", "0SEND_F1", "2F0", "2RECV_F1",
                      "2SEND_F0", "2F1", "2SEND_F1", "2RECV_B1", "2B1", "2SEND_B1", "2RECV_B0",
                      "2B0", "2SEND_B0", "0RECV_B1", "0B1", "0RECV_B0", "0B0"),
          ElementsAre("1RECV_F0", "1F0", "1SEND_F0", "1RECV_F1", "1F1", "1SEND_F1", "3RECV_F0",
                      "3F0", "3RECV_F1", "3F1", "3B1", "3SEND_B1", "3B0", "3SEND_B0", "1RECV_B1",
                      "1B1", "1SEND_B1", "1RECV_B0", "1B0", "1SEND_B0")));
}

TEST(Lower, ReceivesForAPairBeforeItAndSendsAfterIt) {
  const Program program = lower(schedule_of("0F0 0F1 (0F2;0B0) 0B1 0B2\n1F0 1B0 1F1 1F2 1B1 1B2"),
                                {.placement = MessagePlacement::Paired, .step_end = false});
  EXPECT_THAT(comms_of(program)[0],
              ElementsAre("0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0F2", "0B0",
                          "0SEND_F2", "0RECV_B1", "0B1", "0RECV_B2", "0B2"));
}

TEST(Lower, SumsSharedGradientsInOneOrderOnEveryActor) {
  Schedule schedule = schedule_of("0F0 3F1 3B1 0B0\n2F1 1F0 1B0 2B1");
  schedule.pipeline.stages = {{0, 0}, {1, 1}, {1, 0}, {0, 1}};
  schedule.pipeline.routes = {{0, 1}, {2, 3}};
  schedule.pipeline.microbatches = {{.route = 0}, {.route = 1}};
  const Program program = lower(schedule, {.shared = {{0, 3}}});
  EXPECT_THAT(program.shared, ElementsAre(ElementsAre(0, 3), ElementsAre(0, 2), ElementsAre(1, 3)))
      << "what is asked for (here within actor 0), then the mirrored copies";
  const std::vector<Row> words = words_of(program);
  EXPECT_EQ(Row(words[0].end() - 6, words[0].end()),
            (Row{"reduce0", "reduce1", "reduce2", "norm", "update0", "update3"}));
  EXPECT_EQ(Row(words[1].end() - 5, words[1].end()),
            (Row{"reduce1", "reduce2", "norm", "update1", "update2"}));
}

TEST(Lower, SendsNothingOnOneActor) {
  for (const Generator& generator : generators()) {
    const auto schedule = generate_near(generator.name, {.actors = 1, .microbatches = 3}, 0);
    if (!schedule) continue;  // its rule asks for more actors
    EXPECT_TRUE(lower(*schedule).messages.empty()) << generator.name;
  }
}

TEST(Lower, PairsTransfersWhereGroupsGetThrough) {
  std::map<bool, int> seen;
  for (const Generator& generator : generators()) {
    const auto schedule =
        generate_near(generator.name, {.actors = 4, .chunks = 2, .microbatches = 8});
    ASSERT_TRUE(schedule) << generator.name;
    const Program naive = lower(*schedule, {.placement = MessagePlacement::Naive});
    const bool through = check_transport(naive, TransportKind::Grouped).fine();
    ++seen[through];
    EXPECT_EQ(lower(*schedule, {.placement = MessagePlacement::Paired}).actions,
              through ? naive.actions : lower(*schedule).actions)
        << generator.name;
  }
  EXPECT_GE(seen[true], 3);
  EXPECT_GE(seen[false], 3);
}

TEST(Lower, PoliciesHaveNames) {
  std::vector<std::string_view> names;
  for (const LoweringPolicy& policy : lowering_policies()) {
    names.push_back(policy.name);
    EXPECT_EQ(parse_lowering(policy.name), policy.placement);
  }
  EXPECT_THAT(names, ElementsAre("linear", "paired", "deferred", "naive"));
  EXPECT_EQ(lowering_policies().front().placement, LowerOptions().placement);
  EXPECT_EQ(parse_lowering("Linear"), std::nullopt);
}

TEST(Lower, RefusesADeadlock) {
  try {
    lower(schedule_of("0F0 0B0 0F1 0B1\n1F1 1B1 1F0 1B0"));
    FAIL() << "lowered a deadlock";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("deadlock: actor 0 waits at 0B0 for 1B0"));
  }
  EXPECT_THROW(lower(schedule_of("0B0 0F0")), Error);
  EXPECT_THROW(lower(schedule_of("0F0\n1B0")), Error);
}

// Gradients of a stage add up in the order in which its backwards run.
TEST(Lower, OneActorKeepsTheOrderOfEveryStage) {
  const Schedule schedule = schedule_of(read_rows("torch/dualpipev_p4_m8.compute.csv"));
  const Schedule one = on_one_actor(schedule);
  EXPECT_EQ(one.pipeline.actors, 1);
  ASSERT_EQ(one.order.size(), 1u);
  const auto of_stage = [](const Schedule& s, std::int32_t stage) {
    std::vector<std::string> ops;
    for (const std::vector<Step>& order : s.order) {
      for (const Step& step : order) {
        if (step.op.stage == stage) ops.push_back(to_string(step.op));
      }
    }
    return ops;
  };
  for (std::int32_t stage = 0; stage < 8; ++stage) {
    EXPECT_EQ(of_stage(one, stage), of_stage(schedule, stage));
  }
}

TEST(PlanHash, TellsPlansApart) {
  const Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 8});
  const std::uint64_t hash = plan_hash(lower(schedule));
  EXPECT_EQ(plan_hash(lower(schedule)), hash);
  EXPECT_NE(plan_hash(lower(schedule, {.placement = MessagePlacement::Paired})), hash);
  EXPECT_NE(plan_hash(lower(schedule, {.shared = {{0, 3}}})), hash);
  EXPECT_NE(plan_hash(lower(generate("gpipe", {.actors = 4, .microbatches = 8}))), hash);
  EXPECT_NE(plan_hash(lower(generate("1f1b", {.actors = 4, .microbatches = 9}))), hash);
  const GenerateOptions eight{.actors = 4, .microbatches = 8};
  EXPECT_NE(plan_hash(lower(generate("dualpipe", eight))),
            plan_hash(lower(generate(
                "dualpipe", {.actors = 4, .microbatches = 8, .option = {{"fused", "0"}}}))));
  Schedule other_way = generate("dualpipe", eight);
  std::swap(other_way.pipeline.stages[0].part, other_way.pipeline.stages[1].part);
  EXPECT_NE(plan_hash(lower(other_way)), plan_hash(lower(generate("dualpipe", eight))));
  Schedule sequences = schedule;
  sequences.pipeline.microbatches[3].sequences = 2;
  EXPECT_NE(plan_hash(lower(sequences)), hash);
}

}  // namespace
}  // namespace penstock
