#include "penstock/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/error.h"
#include "penstock/generate.h"
#include "tables.h"

namespace penstock {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

// The problems as a user reads them.
std::vector<std::string> said(const Schedule& schedule, const std::string& source = "s.json") {
  std::vector<std::string> texts;
  for (const Problem& problem : check(schedule, source)) texts.push_back(to_string(problem));
  return texts;
}

// Two actors, one stage each, two microbatches.
Schedule small() {
  return schedule_of("0F0 0F1 0B0 0B1\n1F0 1B0 1F1 1B1");
}

// Two actors, two routes over mirrored stages, a microbatch each.
Schedule mirrored() {
  Schedule schedule = schedule_of("0F0 3F1 3B1 0B0\n2F1 1F0 1B0 2B1");
  schedule.pipeline.stages = {{0, 0}, {1, 1}, {1, 0}, {0, 1}};
  schedule.pipeline.routes = {{0, 1}, {2, 3}};
  schedule.pipeline.microbatches = {{.route = 0}, {.route = 1}};
  return schedule;
}

TEST(Check, AcceptsWhatAUserMayWrite) {
  EXPECT_THAT(said(small()), IsEmpty());
  EXPECT_THAT(said(mirrored()), IsEmpty());
  EXPECT_THAT(said(schedule_of("0F0 0I0 0F1 0W0 0B1")), IsEmpty()) << "split backward";
  EXPECT_THAT(said(schedule_of("0F0.0 0F0.1 0B0.1 0B0.0")), IsEmpty()) << "slices";
  EXPECT_THAT(
      said(schedule_of("0F0 3F0 3B0 (0F1;0B0) 3F1 3B1 0B1\n1F0 2F0 2B0 1B0 1F1 2F1 2B1 1B1")),
      IsEmpty())
      << "a V with a pair";
}

class Reference : public testing::TestWithParam<const char*> {};

TEST_P(Reference, OrdersOfOtherProjectsAreValid) {
  EXPECT_THAT(said(schedule_of(read_rows(GetParam()))), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, Reference,
    testing::Values("torch/zbv_p4_m8.compute.csv", "torch/dualpipev_p4_m8.compute.csv",
                    "torch/interleaved_zb1p_p4_v2_m8.compute.csv", "other/zb-h1_p4_m8.csv",
                    "other/zb-h2_p4_m8.csv", "other/V-Min_p4_m8.csv", "other/V-Half_p4_m8.csv",
                    "other/ZB-V_p4_m8.csv", "other/1F1B-V_p4_m8.csv", "other/seq1f1b_p4_m4_k2.csv",
                    "other/megatron_interleaved_p4_v2_m10_g4.csv"));

// torch's Schedule1F1B export shifts the last actor by one microbatch (F1..F8, no F0).
TEST(Check, CatchesTorchsExport) {
  Schedule schedule =
      schedule_of(read_rows("torch/1f1b_p4_m8.UPSTREAM_BUGGY_LAST_RANK.compute.csv"));
  EXPECT_THAT(said(schedule), ElementsAre("s.json:/order/0: no actor runs 0F8\n"
                                          "  hint: stage 0 sits on actor 0: add it there",
                                          _, _, _, _, _,
                                          "s.json:/order/3: no actor runs 3F0\n"
                                          "  hint: stage 3 sits on actor 3: add it there",
                                          _))
      << "read with nine microbatches, because 3F8 is there";
  schedule.pipeline.microbatches.resize(8);
  EXPECT_THAT(said(schedule), ElementsAre("s.json:/order/3/14: actor 3 runs 3F8, but there is no "
                                          "microbatch 8\n  hint: microbatches are 0 to 7",
                                          "s.json:/order/3: no actor runs 3F0\n"
                                          "  hint: stage 3 sits on actor 3: add it there"));
}

struct Broken {
  const char* order;
  std::vector<std::string> said;
};

class OpProblem : public testing::TestWithParam<Broken> {};

// Over the pipeline of small().
TEST_P(OpProblem, IsToldWithPlaceAndHint) {
  Schedule schedule = schedule_of(GetParam().order);
  schedule.pipeline = small().pipeline;
  EXPECT_THAT(said(schedule), ElementsAreArray(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    All, OpProblem,
    testing::Values(
        Broken{"0F0 0F1 0B0 0B1 7F0\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/4: actor 0 runs 7F0, but there is no stage 7\n"
                "  hint: stages are 0 to 1"}},
        Broken{"0F0 0F1 0B0 0B1 0F9\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/4: actor 0 runs 0F9, but there is no microbatch 9\n"
                "  hint: microbatches are 0 to 1"}},
        Broken{"0F0 0F1 0B0 0B1 0F1.2\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/4: actor 0 runs 0F1.2, but microbatch 1 has no slice 2\n"
                "  hint: slices are 0 to 0"}},
        Broken{"0F0 0F1 0B0 0B1 1B1\n1F0 1B0 1F1",
               {"s.json:/order/0/4: actor 0 runs 1B1, but stage 1 sits on actor 1\n"
                "  hint: move it to actor 1"}},
        Broken{"0F0 0F1 0B0 0F1 0B1\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/3: actor 0 runs 0F1 twice\n  hint: entry 1 is the first"}},
        Broken{"0F1 0B1\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0: no actor runs 0F0\n"
                "  hint: stage 0 sits on actor 0: add it there",
                "s.json:/order/0: no actor runs 0B0\n"
                "  hint: stage 0 sits on actor 0: add it there"}},
        Broken{"0F0 0F1 0I0 0W1\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0: no actor runs 0W0\n"
                "  hint: stage 0 sits on actor 0: add it there",
                "s.json:/order/0: no actor runs 0I1\n"
                "  hint: stage 0 sits on actor 0: add it there"}},
        Broken{"0F0 0F1 0I0 0B0 0W0 0B1\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/3: actor 0 runs 0B0 and also its I\n"
                "  hint: B is I and W in one: keep either it or the two",
                "s.json:/order/0/3: actor 0 runs 0B0 and also its W\n"
                "  hint: B is I and W in one: keep either it or the two"}},
        Broken{"0F0 0F1 0W0 0I0 0B1\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/2: actor 0 runs 0W0 before 0I0\n"
                "  hint: a weight gradient needs its input gradient; swap entries 2 and 3"}},
        Broken{"0F0 0B1 0B0 0F1\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/1: actor 0 runs 0B1 before 0F1\n"
                "  hint: a backward needs its forward on the same stage; swap entries 1 and 3"}},
        Broken{"(0F0;0F1) 0B1 0B0\n1F0 (1F1;1B1) 1B0",
               {"s.json:/order/1/1: actor 1 overlaps 1B1 with 1F1, which it needs\n"
                "  hint: an op starts after those that it needs have ended"}},
        Broken{"(0F0;0F1) 0F1 0B0 0B1\n1F0 1B0 1F1 1B1",
               {"s.json:/order/0/1: actor 0 runs 0F1 twice\n  hint: entry 0 is the first"}}));

TEST(Check, TellsWhyAnOrderOnOneActorIsWrong) {
  EXPECT_THAT(said(schedule_of("0F0.1 0F0.0 0B0.1 0B0.0")),
              ElementsAre("s.json:/order/0/0: actor 0 runs 0F0.1 before 0F0\n"
                          "  hint: slices go forward from the first to the last; "
                          "swap entries 0 and 1"));
  EXPECT_THAT(said(schedule_of("0F0.0 0F0.1 0B0.0 0B0.1")),
              ElementsAre("s.json:/order/0/2: actor 0 runs 0B0 before 0B0.1\n"
                          "  hint: slices go backward from the last to the first; "
                          "swap entries 2 and 3"));
  EXPECT_THAT(said(schedule_of("1F0 0F0 1B0 0B0")),
              ElementsAre("s.json:/order/0/0: actor 0 runs 1F0 before 0F0\n"
                          "  hint: stage 1 needs the activation of stage 0; swap entries 0 and 1"));
  EXPECT_THAT(said(schedule_of("0F0 1F0 0I0 1B0 0W0")),
              ElementsAre("s.json:/order/0/2: actor 0 runs 0I0 before 1B0\n"
                          "  hint: stage 0 needs the gradient of stage 1; swap entries 2 and 3"));
}

// One message for a whole order made for another placement.
TEST(Check, TellsWhichPlacementAnOrderFits) {
  Schedule v = generate("1f1b_v", {.actors = 4, .microbatches = 6});
  v.pipeline.stages = loop_pipeline(4, 2, 6).stages;
  EXPECT_THAT(
      said(v),
      ElementsAre("s.json:/stages: stages 4 to 7 sit on actors 0 to 3, but their ops run on "
                  "actors 3 to 0: the order is that of a V, the placement that of a loop\n"
                  "  hint: if the order is right, the actors of stages 0 to 7 are 0 to 3, "
                  "3 to 0"));
  Schedule swapped = small();
  std::swap(swapped.order[0], swapped.order[1]);
  EXPECT_THAT(said(swapped),
              ElementsAre("s.json:/stages: stages 0, 1 sit on actors 0, 1, but their ops run on "
                          "actors 1, 0\n"
                          "  hint: if the order is right, the actors of stages 0 to 1 are 1, 0"));
  // What else is wrong is told beside it.
  Schedule faulty = generate("interleaved_1f1b", {.actors = 2, .chunks = 2, .microbatches = 2});
  faulty.pipeline.stages = v_pipeline(2, 2, 2).stages;
  faulty.order[1].push_back({Op{OpKind::Forward, 0, 1, 0}});
  faulty.order[0].pop_back();
  EXPECT_THAT(said(faulty), ElementsAre(HasSubstr("the order is that of a loop"),
                                        HasSubstr("actor 1 runs 0F1, but stage 0 sits on actor 0"),
                                        HasSubstr("no actor runs 0B1")));
  // Nothing sits on actor 1 then, so its ops are told one by one.
  Schedule idle = small();
  idle.order[0].insert(idle.order[0].end(), idle.order[1].begin(), idle.order[1].end());
  idle.order[1].clear();
  EXPECT_THAT(said(idle), ElementsAre(_, _, _, _));
}

TEST(Check, TellsAboutPairs) {
  Schedule first = small();
  first.order[0][0].overlaps_previous = true;
  EXPECT_THAT(said(first),
              ElementsAre("s.json:/order/0/0: actor 0 overlaps 0F0 with the op before, but it is "
                          "the first\n  hint: put the op that it overlaps before it"));
  Schedule three = small();
  three.order[0][1].overlaps_previous = true;
  three.order[0][2].overlaps_previous = true;
  EXPECT_THAT(said(three), ElementsAre("s.json:/order/0/0: actor 0 overlaps more than two ops\n"
                                       "  hint: a pair is two ops",
                                       "s.json:/order/0/0: actor 0 overlaps 0B0 with 0F0, which it "
                                       "needs\n  hint: an op starts after those that it needs have "
                                       "ended"));
}

TEST(Check, TellsAboutRoutesAndKinds) {
  Schedule route = mirrored();
  route.order[0].push_back({Op{OpKind::Forward, 0, 1, 0}});
  EXPECT_THAT(said(route),
              ElementsAre("s.json:/order/0/4: actor 0 runs 0F1, but microbatch 1 takes "
                          "route 1, which does not pass stage 0\n"
                          "  hint: stage 0 is on route 0"));
  Schedule kind = small();
  kind.order[1].push_back({Op{static_cast<OpKind>(9), 0, 1, 0}});
  EXPECT_THAT(said(kind), ElementsAre("s.json:/order/1/4: actor 1 runs an op of an unknown kind\n"
                                      "  hint: kinds are F, B, I, W, R and U"));
}

TEST(Check, NamesTheRingOfADeadlock) {
  EXPECT_THAT(
      said(schedule_of("0F0 0B0 0F1 0B1\n1F1 1B1 1F0 1B0")),
      ElementsAre("s.json:/order/0/1: deadlock: actor 0 waits at 0B0 for 1B0, which actor 1 runs "
                  "after 1F1; actor 1 waits at 1F1 for 0F1, which actor 0 runs after 0B0\n"
                  "  hint: break the ring: one of these actors must run what is awaited before it "
                  "waits itself"));
  // The awaited gradient is an I; a bystander (actor 0) is not part of the ring.
  EXPECT_THAT(
      said(schedule_of("0F0 0F1 0B0 0B1\n1F0 1B0 1F1 1B1\n2F1 2I1 2W1 2F0 2I0 2W0")),
      ElementsAre("s.json:/order/1/1: deadlock: actor 1 waits at 1B0 for 2I0, which actor 2 "
                  "runs after 2F1; actor 2 waits at 2F1 for 1F1, which actor 1 runs after "
                  "1B0\n  hint: break the ring: one of these actors must run what is "
                  "awaited before it waits itself"));
}

TEST(Check, NamesEveryRing) {
  Schedule schedule =
      schedule_of("0F0 0B0 0F1 0B1\n1F1 1B1 1F0 1B0\n2F2 2B2 2F3 2B3\n3F3 3B3 3F2 3B2");
  schedule.pipeline.stages = {{0, 0}, {1, 1}, {2, 0}, {3, 1}};
  schedule.pipeline.routes = {{0, 1}, {2, 3}};
  schedule.pipeline.microbatches = {{.route = 0}, {.route = 0}, {.route = 1}, {.route = 1}};
  EXPECT_THAT(said(schedule), ElementsAre(HasSubstr("deadlock: actor 0 waits at 0B0"),
                                          HasSubstr("deadlock: actor 2 waits at 2B2")));
}

// A pair waits for the inputs of both its ops before either starts.
TEST(Check, SeesADeadlockInsideAPair) {
  EXPECT_THAT(said(schedule_of("0F0 0F1 (0B0;0F2) 0B1 0B2\n1F0 1B0 1F1 1F2 1B1 1B2")), IsEmpty());
  EXPECT_THAT(said(schedule_of("0F0 0F1 (0B0;0F2) 0B1 0B2\n1F0 1F1 1F2 1B0 1B1 1B2")),
              ElementsAre(HasSubstr("actor 0 waits at 0B0 for 1B0, which actor 1 runs after 1F2; "
                                    "actor 1 waits at 1F2 for 0F2, where actor 0 itself waits")));
  // Either op of the other pair is where it waits.
  EXPECT_THAT(said(schedule_of("0F0 (0F1;0B0) 0B1\n1F0 (1F1;1B0) 1B1")),
              ElementsAre(HasSubstr("actor 0 waits at 0B0 for 1B0, where actor 1 itself waits; "
                                    "actor 1 waits at 1F1 for 0F1, where actor 0 itself waits")));
}

TEST(Check, StopsAtAHundredProblems) {
  Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 100});
  for (std::vector<Step>& order : schedule.order) order.clear();
  const std::vector<Problem> problems = check(schedule);
  ASSERT_EQ(problems.size(), 100u);
  EXPECT_EQ(problems.back().what, "and 701 more problems");
}

}  // namespace
}  // namespace penstock
