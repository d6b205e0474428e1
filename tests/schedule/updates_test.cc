// Recompute and optimizer steps as ops of the order: what is legal, and the schedules that have
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/check.h"
#include "penstock/depend.h"
#include "penstock/error.h"
#include "penstock/generate.h"
#include "penstock/program.h"
#include "tables.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> said(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const Problem& problem : check(schedule)) texts.push_back(to_string(problem));
  return texts;
}

std::vector<std::string> said(const char* order) {
  return said(schedule_of(order));
}

TEST(Ops, AreSpelt) {
  for (const char* text : {"0R0", "3R5.2", "12U7"}) EXPECT_EQ(to_string(*parse_op(text)), text);
  EXPECT_EQ(parse_op("3R5"), (Op{OpKind::Recompute, 3, 5, 0}));
  EXPECT_EQ(parse_op("3U5"), (Op{OpKind::Update, 3, 5, 0}));
  EXPECT_EQ(name(OpKind::Recompute), "recompute");
  EXPECT_EQ(name(OpKind::Update), "update");
}

TEST(Depend, RecomputeAndUpdate) {
  Pipeline pipeline = loop_pipeline(2, 1, 2);
  pipeline.microbatches[1].slice_tokens = {5, 5};
  const Dependencies dependencies(pipeline);
  const auto inputs = [&](const char* op) {
    std::vector<std::string> texts;
    for (const Op& input : dependencies.inputs(*parse_op(op))) texts.push_back(to_string(input));
    return texts;
  };
  EXPECT_THAT(inputs("0R0"), ElementsAre("0F0"));
  EXPECT_THAT(inputs("0B0"), ElementsAre("0F0", "1B0"));
  EXPECT_THAT(inputs("0W0"), ElementsAre("0B0"));
  EXPECT_THAT(inputs("0U0"), ElementsAre("0W0")) << "W or B";
  EXPECT_THAT(inputs("0U1"), ElementsAre("0W1", "0W1.1"));
}

TEST(CheckRecompute, StandsBetweenForwardAndBackward) {
  EXPECT_THAT(said("0F0 0R0 0B0"), IsEmpty());
  EXPECT_THAT(said("0F0 0F1 0R1 0R0 0I0 0W0 0B1"), IsEmpty());
  EXPECT_THAT(said("0F0 0F1 0R0 0B0 0B1"), IsEmpty()) << "some units and not others";
  EXPECT_THAT(said("0R0 0F0 0B0"),
              ElementsAre("/order/0/0: actor 0 runs 0R0 before 0F0\n  hint: what is computed again "
                          "was computed before; swap entries 0 and 1"));
  EXPECT_THAT(said("0F0 0B0 0R0"),
              ElementsAre("/order/0/2: actor 0 runs 0R0 behind 0B0, which needs what it computes "
                          "again\n  hint: move it in front of 0B0"));
  EXPECT_THAT(said("0F0 0I0 0R0 0W0"), ElementsAre(HasSubstr("runs 0R0 behind 0I0")));
  EXPECT_THAT(said("0F0 0R0 0R0 0B0"), ElementsAre(HasSubstr("runs 0R0 twice")));
  EXPECT_THAT(said("0F0 0F1 (0R0;0B1) 0B0"),
              ElementsAre("/order/0/2: actor 0 overlaps 0R0 with another op\n"
                          "  hint: only F, B, I and W overlap"));
}

TEST(CheckUpdates, ApplyWhatCameBefore) {
  EXPECT_THAT(said("0F0 0B0 0U0 0F1 0B1 0U1"), IsEmpty());
  EXPECT_THAT(said("0F0 0F1 0B0 0B1 0U1"), IsEmpty()) << "one for all";
  EXPECT_THAT(said("0F0 0F1 0B0 0B1 0U0 0U1"), IsEmpty()) << "the gradient of 1 waits";
  EXPECT_THAT(said("0F0 0I0 0F1 0I1 0W0 0U0 0W1 0U1"), IsEmpty());
  EXPECT_THAT(said("0F0 0U0 0B0"),
              ElementsAre("/order/0/1: actor 0 runs 0U0 before 0B0\n  hint: an update needs the "
                          "gradients that it applies; swap entries 1 and 2"));
  EXPECT_THAT(said("0F0 0I0 0U0 0W0"), ElementsAre(HasSubstr("runs 0U0 before 0W0")));
  EXPECT_THAT(said("0F0 0F1 0B1 0U1 0B0"),
              ElementsAre("/order/0/4: actor 0 runs 0B0 after 0U1, which applies the gradients up "
                          "to microbatch 1\n  hint: move the update behind the gradients that it "
                          "applies"));
  EXPECT_THAT(said("0F0 0F1 0B0 0B1 0U1 0U0"),
              ElementsAre("/order/0/5: actor 0 runs 0U0 after the update of microbatch 1\n  hint: "
                          "each update takes the microbatches behind those of the one before"));
  EXPECT_THAT(said("0F0 0B0 0U0 0U0"), ElementsAre(HasSubstr("runs 0U0 twice")));
  EXPECT_THAT(said("0F0 0F1 (0U0;0B0) 0B1 0U1"),
              testing::Contains(HasSubstr("overlaps 0U0 with another op")));
}

TEST(CheckUpdates, TakeEverythingAndAreOnEveryStage) {
  EXPECT_THAT(
      said("0F0 0F1 0B0 0U0 0B1"),
      ElementsAre("/order/0: no update of stage 0 applies the gradient of microbatch 1\n"
                  "  hint: end with 0U1, or leave out all updates: then every stage updates "
                  "behind its last op"));
  EXPECT_THAT(said("0F0 0B0 0U0\n1F0 1B0"),
              ElementsAre(HasSubstr("no update of stage 1 applies the gradient of microbatch 0")));
  EXPECT_THAT(said("0F0.0 0F0.1 0B0.1 0B0.0 0U0"), IsEmpty());
  EXPECT_THAT(said("0F0.0 0F0.1 0B0.1 0U0 0B0.0"), ElementsAre(HasSubstr("runs 0U0 before 0B0")));
  EXPECT_THAT(said("0F0.0 0F0.1 0B0.1 0B0.0 0U0.1"),
              ElementsAre("/order/0/4: actor 0 updates by a slice: 0U0.1\n"
                          "  hint: it applies the gradients of whole microbatches"));
}

TEST(CheckUpdates, CopiesAreSummedFirst) {
  Schedule schedule = schedule_of("0F0 0B0 0U0 1F1 1B1 1U1");
  schedule.pipeline.stages = {{0, 0}, {0, 0}};
  schedule.pipeline.routes = {{0}, {1}};
  schedule.pipeline.microbatches = {{.route = 0}, {.route = 1}};
  EXPECT_THAT(said(schedule),
              ElementsAre("/stages/1/part: stages 0 and 1 are copies of one part, but update at "
                          "times of their own\n  hint: leave out the updates: copies are summed "
                          "and updated behind the last op"));
}

TEST(Lower, UpdatesInsideTheOrderAreTheStepsEnd) {
  const Program program = lower(schedule_of("0F0 0B0 0U0 0F1 0B1 0U1"));
  for (const Action& action : program.actions[0]) EXPECT_EQ(action.kind, ActionKind::Compute);
  EXPECT_EQ(program.actions[0].size(), 6U);
}

TEST(Lower, StagesThatShareWeightsNeedAFlush) {
  const Schedule schedule = schedule_of("0F0 0B0 0U0\n1F0 1B0 1U0");
  try {
    lower(schedule, {.shared = {{0, 1}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("stages 0 and 1 share weights"));
    EXPECT_THAT(error.what(), HasSubstr("a flush is required"));
    EXPECT_THAT(error.what(), HasSubstr("configs/models/tiny-llama.json"));
  }
}

TEST(WithRecompute, StandsInFrontOfTheBackward) {
  EXPECT_EQ(rows_of(with_recompute(schedule_of("0F0 0F1 0B0 0I1 0W1"))),
            std::vector<Row>({{"0F0", "0F1", "0R0", "0B0", "0R1", "0I1", "0W1"}}));
  EXPECT_EQ(rows_of(with_recompute(schedule_of("0F0 (0F1;0B0) 0B1")))[0],
            Row({"0F0", "0R0", "(0F1;0B0)OVERLAP_F_B", "0R1", "0B1"}));
  const Schedule some = schedule_of("0F0 0R0 0F1 0B0 0B1");
  EXPECT_EQ(rows_of(with_recompute(some))[0], Row({"0F0", "0R0", "0F1", "0B0", "0R1", "0B1"}));
  for (const Generator& generator : generators()) {
    if (!generator.options.empty()) continue;
    const Schedule schedule = generator.generate({.actors = 4, .chunks = 1, .microbatches = 8});
    const Schedule once = with_recompute(schedule);
    EXPECT_THAT(check(once), IsEmpty()) << generator.name;
    EXPECT_EQ(with_recompute(once), once);
  }
}

// Figure 2 of arXiv 2006.09503: four workers, batches of four. The version that batch 1's backwards
// make is first read by batch 3's forwards (inputs 9 to 12 there).
TEST(TwoVersions, AreThePapersFigure) {
  const Schedule schedule =
      generate("pipedream_2bw", {.actors = 4, .microbatches = 4, .option = {{"steps", "3"}}});
  EXPECT_THAT(check(schedule), IsEmpty());
  EXPECT_EQ(rows_of(schedule)[0],
            Row({"0F0",  "0F1", "0F2",  "0F3", "0B0", "0F4", "0B1",  "0F5",  "0B2",
                 "0F6",  "0B3", "0F7",  "0U3", "0B4", "0F8", "0B5",  "0F9",  "0B6",
                 "0F10", "0B7", "0F11", "0U7", "0B8", "0B9", "0B10", "0B11", "0U11"}));
  EXPECT_EQ(rows_of(schedule)[3],
            Row({"3F0", "3B0", "3F1", "3B1",  "3F2",  "3B2",  "3F3", "3B3",  "3F4",
                 "3B4", "3F5", "3B5", "3F6",  "3B6",  "3F7",  "3U3", "3B7",  "3F8",
                 "3B8", "3F9", "3B9", "3F10", "3B10", "3F11", "3U7", "3B11", "3U11"}));
}

// On every stage a batch is computed with one version, that of two batches before.
TEST(TwoVersions, ABatchReadsOneVersion) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int m : {p, p + 1, 2 * p, 3 * p + 1}) {
      for (const int steps : {1, 2, 3, 5}) {
        const Schedule schedule = generate(
            "pipedream_2bw",
            {.actors = p, .microbatches = m, .option = {{"steps", std::to_string(steps)}}});
        EXPECT_THAT(check(schedule), IsEmpty()) << p << " " << m;
        for (const std::vector<Step>& order : schedule.order) {
          int version = 0;
          for (const Step& step : order) {
            if (step.op.kind == OpKind::Update) ++version;
            if (step.op.kind != OpKind::Forward) continue;
            EXPECT_EQ(version, std::max(0, step.op.microbatch / m - 1)) << to_string(step.op);
          }
          EXPECT_EQ(version, steps);
        }
      }
    }
  }
}

TEST(LocalUpdates, FollowEveryFewMicrobatches) {
  const auto rows = [](std::map<std::string, std::string> option) {
    const Schedule schedule =
        generate("local", {.actors = 2, .microbatches = 3, .option = std::move(option)});
    EXPECT_THAT(check(schedule), IsEmpty());
    return rows_of(schedule);
  };
  EXPECT_EQ(rows({{"variant", "ppll"}})[0],
            Row({"0F0", "0B0", "0U0", "0F1", "0B1", "0U1", "0F2", "0B2", "0U2"}));
  EXPECT_EQ(rows({{"update_every", "2"}})[1],
            Row({"1F0", "1B0", "1F1", "1B1", "1U1", "1F2", "1B2", "1U2"}));
  EXPECT_EQ(rows({{"variant", "overlapping"}, {"update_every", "1"}})[1],
            Row({"1F0", "1B0", "1U0", "1F1", "1B1", "1U1", "1F2", "1B2", "1U2"}));
}

}  // namespace
}  // namespace penstock
