// Programs whose updates are verified in the next step.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../generate_near.h"
#include "penstock/deadlock.h"
#include "penstock/depend.h"
#include "penstock/generate.h"
#include "penstock/lowering.h"
#include "penstock/program.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr LowerOptions kValidated{.synchronization = Synchronization::PostValidation};

std::string refusal(const Schedule& schedule) {
  try {
    lower(schedule, kValidated);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// One-route schedules of the catalogue, at several sizes.
std::vector<Schedule> schedules() {
  std::vector<Schedule> all;
  for (const Generator& generator : generators()) {
    for (const std::int32_t actors : {2, 3, 4, 6}) {
      for (const std::int32_t slices : {1, 2}) {
        auto schedule = generate_near(
            generator.name,
            {.actors = actors, .chunks = 2, .microbatches = 2 * actors, .slices = slices});
        if (schedule && refusal(*schedule).empty()) all.push_back(std::move(*schedule));
      }
    }
  }
  return all;
}

std::vector<std::int32_t> computes_before_verdict(const Program& program) {
  std::vector<std::int32_t> counts;
  for (const std::vector<Action>& actions : program.actions) {
    const auto verdict = std::ranges::find(actions, ActionKind::Verdict, &Action::kind);
    EXPECT_NE(verdict, actions.end());
    counts.push_back(static_cast<std::int32_t>(std::count_if(
        actions.begin(), verdict, [](const Action& a) { return a.kind == ActionKind::Compute; })));
  }
  return counts;
}

std::vector<ActionKind> tail(const Program& program, std::size_t actor) {
  std::vector<ActionKind> kinds;
  for (const Action& action : program.actions[actor]) {
    if (action.kind > ActionKind::AwaitRoom && action.kind != ActionKind::Verdict) {
      kinds.push_back(action.kind);
    }
  }
  return kinds;
}

// All forwards before an actor's first backward, but on the last, which knows the verdict.
TEST(PostValidation, WarmUpIsSpeculative) {
  const auto before = [](const char* name, std::int32_t chunks) {
    return computes_before_verdict(
        lower(generate(name, {.actors = 4, .chunks = chunks, .microbatches = 8}), kValidated));
  };
  EXPECT_THAT(before("1f1b", 1), ElementsAre(4, 3, 2, 0));
  EXPECT_THAT(before("gpipe", 1), ElementsAre(8, 8, 8, 0));
  EXPECT_THAT(before("zb_h2", 1), ElementsAre(7, 5, 3, 0));
  // The second chunk's forwards come from the last actor, which works with verified weights.
  EXPECT_THAT(before("interleaved_1f1b", 2), ElementsAre(4, 4, 4, 0));
}

TEST(PostValidation, NormsGoAlongThePipeline) {
  const Schedule schedule = generate("1f1b", {.actors = 3, .microbatches = 4});
  const Program program =
      lower(schedule, {.shared = {{0, 2}}, .synchronization = Synchronization::PostValidation});
  EXPECT_THAT(tail(program, 0), ElementsAre(ActionKind::ReduceGradients, ActionKind::PartialNorm,
                                            ActionKind::NormSend, ActionKind::Update));
  EXPECT_THAT(tail(program, 1), ElementsAre(ActionKind::PartialNorm, ActionKind::NormReceive,
                                            ActionKind::NormSend, ActionKind::Update));
  EXPECT_THAT(tail(program, 2), ElementsAre(ActionKind::ReduceGradients, ActionKind::PartialNorm,
                                            ActionKind::NormReceive, ActionKind::Update));
  EXPECT_TRUE(has_verdict(program));
  EXPECT_TRUE(keeps_a_copy(program, 0));
  EXPECT_FALSE(keeps_a_copy(program, 2));
  EXPECT_NE(plan_hash(program), plan_hash(lower(schedule, {.shared = {{0, 2}}})));
}

TEST(PostValidation, OneActorHasNobodyToWaitFor) {
  const Schedule schedule = generate("1f1b", {.actors = 1, .microbatches = 4});
  const Program program = lower(schedule, kValidated);
  EXPECT_FALSE(has_verdict(program));
  EXPECT_EQ(speculative_computes(program), 0);
  EXPECT_EQ(plan_hash(program), plan_hash(lower(schedule)));
}

// What runs before the verdict needs nothing that runs behind one, and no more could.
TEST(PostValidation, SpeculativePartsAreClosedAndAsLongAsCanBe) {
  int programs = 0;
  for (const Schedule& schedule : schedules()) {
    const Program program = lower(schedule, kValidated);
    const Dependencies dependencies(schedule.pipeline);
    const std::int32_t speculative = speculative_computes(program);
    std::set<Op> first;
    std::vector<std::int32_t> done(program.actions.size(), 0);
    const std::vector<std::int32_t> before = computes_before_verdict(program);
    const auto last = static_cast<std::int32_t>(program.actions.size()) - 1;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(program.computes.size()); ++i) {
      const Compute& compute = program.computes[static_cast<std::size_t>(i)];
      const auto actor = static_cast<std::size_t>(compute.actor);
      const auto inputs = dependencies.inputs(compute.op);
      const bool may =
          compute.op.kind == OpKind::Forward && compute.actor != last &&
          std::ranges::all_of(inputs, [&](const Op& op) { return first.contains(op); });
      if (i < speculative) {
        EXPECT_TRUE(may) << schedule.name << " " << to_string(compute.op);
        first.insert(compute.op);
      } else if (done[actor] == before[actor] && !compute.overlaps_previous) {
        const auto next = static_cast<std::size_t>(i) + 1;
        const bool pair =
            next < program.computes.size() && program.computes[next].overlaps_previous;
        EXPECT_TRUE(!may || pair) << schedule.name << " " << to_string(compute.op);
      }
      ++done[actor];
    }
    for (std::size_t actor = 0; actor < done.size(); ++actor) {
      const Program flush = lower(schedule);
      const auto ops = [&](const Program& p) {
        std::vector<Op> list;
        for (const Action& a : p.actions[actor]) {
          if (a.kind != ActionKind::Compute) continue;
          list.push_back(p.computes[static_cast<std::size_t>(a.index)].op);
        }
        return list;
      };
      EXPECT_EQ(ops(program), ops(flush)) << schedule.name;
    }
    ++programs;
  }
  EXPECT_GE(programs, 60);
}

// Along the linear order: then a roll-back finds all that was sent too early.
TEST(PostValidation, VerdictsStandBehindTheReceivesOfWhatMayBeSentAgain) {
  for (const Schedule& schedule : schedules()) {
    const Program program = lower(schedule, kValidated);
    const std::int32_t speculative = speculative_computes(program);
    for (const std::vector<Action>& actions : program.actions) {
      const auto verdict = std::ranges::find(actions, ActionKind::Verdict, &Action::kind);
      for (auto action = actions.begin(); action != actions.end(); ++action) {
        if (!is_transfer(action->kind)) continue;
        const Message& message = program.messages[static_cast<std::size_t>(action->index)];
        EXPECT_EQ(action < verdict, message.producer < speculative) << schedule.name;
      }
    }
    EXPECT_TRUE(check_transport(program, TransportKind::Rendezvous).fine()) << schedule.name;
  }
}

TEST(PostValidation, RefusesWhatItCannotVerify) {
  const GenerateOptions sizes{.actors = 4, .microbatches = 8};
  EXPECT_EQ(refusal(generate("dualpipe", sizes)),
            "schedule 'dualpipe': post-validation passes the norm along one route; there are 2\n"
            "  hint: 'flush' synchronizes the optimizer of every schedule");
  EXPECT_THAT(refusal(generate("pipedream_2bw", sizes)), HasSubstr("updates stand inside"));
  EXPECT_THAT(refusal(generate("local", sizes)), HasSubstr("windows learn by themselves"));
  EXPECT_THAT(refusal(generate("forward_only", sizes)), HasSubstr("nothing is learnt"));
  Schedule queued = generate("1f1b", sizes);
  queued.pipeline.learning.queue_capacity = 1;
  EXPECT_THAT(refusal(queued), HasSubstr("bounded queue"));
  Schedule mirrored = generate("1f1b", sizes);
  mirrored.pipeline.stages[3].part = 0;
  EXPECT_THAT(refusal(mirrored), HasSubstr("mirrored copies"));
}

TEST(PostValidation, NamesReadBack) {
  for (const auto choice : {Synchronization::Flush, Synchronization::PostValidation}) {
    EXPECT_EQ(parse_synchronization(name(choice)), choice);
  }
  EXPECT_FALSE(parse_synchronization("post validation"));
}

}  // namespace
}  // namespace penstock
