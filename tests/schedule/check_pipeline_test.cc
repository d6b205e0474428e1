// What check says about the pipeline of a schedule.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/check.h"
#include "penstock/generate.h"
#include "tables.h"

namespace penstock {
namespace {

using testing::ElementsAre;

std::vector<std::string> said(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const Problem& problem : check(schedule)) texts.push_back(to_string(problem));
  return texts;
}

struct Broken {
  const char* name;
  void (*breaks)(Schedule&);
  std::vector<std::string> said;
};

class PipelineProblem : public testing::TestWithParam<Broken> {};

TEST_P(PipelineProblem, IsToldWithPlaceAndHint) {
  Schedule schedule = schedule_of("0F0 0F1 0B0 0B1\n1F0 1B0 1F1 1B1");
  GetParam().breaks(schedule);
  EXPECT_THAT(said(schedule), testing::ElementsAreArray(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    All, PipelineProblem,
    testing::Values(
        Broken{"empty",
               [](Schedule& s) { s = Schedule{}; },
               {"/actors: 0 actors\n  hint: at least 1", "/stages: no stages\n  hint: at least one",
                "/routes: no routes\n  hint: at least one",
                "/microbatches: no microbatches\n  hint: at least one"}},
        Broken{"negative_actors",
               [](Schedule& s) {
                 s.pipeline.actors = -3;
                 s.order.clear();
               },
               {"/actors: -3 actors\n  hint: at least 1",
                "/stages/0/actor: stage 0 sits on actor 0, which does not exist\n"
                "  hint: actors are numbered from 0, and there are -3",
                "/stages/1/actor: stage 1 sits on actor 1, which does not exist\n"
                "  hint: actors are numbered from 0, and there are -3"}},
        Broken{"huge_actors",
               [](Schedule& s) { s.pipeline.actors = 2'000'000'000; },
               {"/actors: 2000000000 actors\n  hint: at most 65536"}},
        Broken{"short_order",
               [](Schedule& s) { s.order.pop_back(); },
               {"/order: 1 lists of ops, not 2\n  hint: one list per actor"}},
        Broken{"actor_out_of_range",
               [](Schedule& s) { s.pipeline.stages[1].actor = 2; },
               {"/stages/1/actor: stage 1 sits on actor 2, which does not exist\n"
                "  hint: actors are numbered from 0, and there are 2",
                "/stages: actor 1 has no stage\n"
                "  hint: place a stage on it, or ask for fewer actors"}},
        Broken{"no_route",
               [](Schedule& s) {
                 s.pipeline.stages.push_back({0, 2});
                 s.pipeline.stages.push_back({1, 3});
               },
               {"/stages/2: stage 2 is on no route\n  hint: add it to a route, or leave it out",
                "/stages/3: stage 3 is on no route\n  hint: add it to a route, or leave it out"}},
        Broken{"two_routes",
               [](Schedule& s) {
                 s.pipeline.routes.push_back({0, 1});
               },
               {"/routes/1/0: stage 0 is on a route already\n"
                "  hint: a stage is on exactly one route, once; give a second route its own stages",
                "/routes/1/1: stage 1 is on a route already\n"
                "  hint: a stage is on exactly one route, once; give a second route its own "
                "stages"}},
        Broken{"unknown_stage",
               [](Schedule& s) {
                 s.pipeline.routes[0] = {0, 7, -1};
               },
               {"/routes/0/1: route 0 passes stage 7, which does not exist\n"
                "  hint: stages are 0 to 1",
                "/routes/0/2: route 0 passes stage -1, which does not exist\n"
                "  hint: stages are 0 to 1",
                "/stages/1: stage 1 is on no route\n  hint: add it to a route, or leave it out"}},
        Broken{"empty_route",
               [](Schedule& s) { s.pipeline.routes.emplace_back(); },
               {"/routes/1: route 1 passes no stage\n  hint: name its stages in forward order"}},
        Broken{"parts_out_of_order",
               [](Schedule& s) {
                 s.pipeline.routes[0] = {1, 0};
               },
               {"/stages/1/part: stage 1 is number 0 of route 0 but holds part 1\n"
                "  hint: along a route the parts are 0, 1, 2, ..: the whole model in order"}},
        Broken{"half_a_model",
               [](Schedule& s) {
                 s.pipeline.stages.push_back({1, 0});
                 s.pipeline.routes.push_back({2});
               },
               {"/routes/1: route 1 ends after part 0, route 0 after part 1\n"
                "  hint: every route passes the whole model"}},
        Broken{"microbatches",
               [](Schedule& s) {
                 s.pipeline.microbatches[0] = {.route = 1, .sequences = 0};
                 s.pipeline.microbatches[1] = {.route = -1, .slice_tokens = {5, 0}};
               },
               {"/microbatches/0/route: microbatch 0 takes route 1, which does not exist\n"
                "  hint: routes are 0 to 0",
                "/microbatches/0/sequences: microbatch 0 has 0 sequences\n  hint: at least 1",
                "/microbatches/1/route: microbatch 1 takes route -1, which does not exist\n"
                "  hint: routes are 0 to 0",
                "/microbatches/1/slice_tokens/1: slice 1 of microbatch 1 has 0 tokens\n"
                "  hint: at least 1"}}),
    [](const auto& info) { return std::string(info.param.name); });

// A few bytes of input must not ask for much memory or time.
TEST(CheckPipeline, IsLinearInWhatIsGiven) {
  Schedule schedule;
  schedule.pipeline.actors = 1;
  schedule.order.resize(1);
  schedule.pipeline.stages.resize(60'000);
  schedule.pipeline.routes.resize(1);
  for (std::int32_t i = 0; i < 60'000; ++i) {
    schedule.pipeline.stages[static_cast<std::size_t>(i)].part = i;
    schedule.pipeline.routes[0].push_back(i);
  }
  schedule.pipeline.microbatches.resize(1000);
  EXPECT_THAT(said(schedule),
              ElementsAre("/order: 0 ops, but the pipeline needs at least 120000000\n"
                          "  hint: every stage runs a forward and a backward of every microbatch "
                          "on its route"));
  schedule.pipeline.microbatches.resize(60'000);
  EXPECT_THAT(said(schedule), ElementsAre(testing::HasSubstr(
                                  "/microbatches: 3600000000 stages, microbatches and slices to "
                                  "run is more than the supported 100000000")));
}

// One microbatch through many actors: almost all of them wait almost all the time.
TEST(CheckPipeline, ManyWaitingActorsCostNothing) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(said(generate("1f1b", {.actors = 65536, .microbatches = 1})), testing::IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20))
      << "milliseconds when each step is linear, minutes when each round visits every actor";
}

}  // namespace
}  // namespace penstock
