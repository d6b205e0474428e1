// What goes wrong while running: every actor ends with the same message, nobody hangs.
#include <algorithm>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actor_plan.h"
#include "fake_device.h"
#include "runs.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// What every actor's run ended with ("" when it did not fail).
std::vector<std::string> endings(const RunPlan& plan, const MakeDevice& make_device,
                                 const InProcessOptions& options = {}) {
  std::vector<std::string> texts(static_cast<std::size_t>(plan.program.schedule.pipeline.actors));
  with_actors(
      static_cast<std::int32_t>(texts.size()),
      [&](Transport& t) {
        try {
          run_actor(plan, {}, make_device, t);
        } catch (const RunError& error) {
          texts[static_cast<std::size_t>(t.actor())] = error.what();
        }
      },
      options);
  return texts;
}

std::unique_ptr<Device> fake(const RunPlan& plan, std::int32_t) {
  return std::make_unique<FakeDevice>(plan, false);
}

RunPlan small_plan() {
  return fake_plan(generate("1f1b", {.actors = 3, .microbatches = 4}), true, 3);
}

TEST(Failures, NanLossNamesStepActorAndOp) {
  const auto texts = endings(small_plan(), [](const RunPlan& plan, std::int32_t) {
    return std::make_unique<FakeDevice>(
        plan, true, FakeFaults{.nan_microbatch = 2, .nan_step = 1, .throws_at = {}, .dies_at = {}});
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("step 2: the loss of microbatch 2"));
    EXPECT_THAT(text, HasSubstr("actor 2, op 2F2"));
  }
}

TEST(Failures, DeviceFailureReachesEverybody) {
  const auto texts = endings(small_plan(), [](const RunPlan& plan, std::int32_t actor) {
    FakeFaults faults;
    if (actor == 1) faults.throws_at = Op{OpKind::Backward, 1, 2};
    return std::make_unique<FakeDevice>(plan, true, faults);
  });
  for (const std::string& text : texts) EXPECT_EQ(text, "actor 1: out of memory");
}

// An input at fault is an Error on every actor, also on those that could not see it.
TEST(Failures, InputErrorStaysAnInputError) {
  const RunPlan plan = small_plan();
  std::vector<std::string> texts(3);
  with_actors(3, [&](Transport& t) {
    try {
      run_actor(
          plan, {},
          [](const RunPlan& p, std::int32_t actor) -> std::unique_ptr<Device> {
            if (actor == 2) throw Error("data.txt", "3 tokens are too few", "add some");
            return fake(p, actor);
          },
          t);
    } catch (const RunError&) {
      texts[static_cast<std::size_t>(t.actor())] = "a RunError";
    } catch (const Error& error) {
      texts[static_cast<std::size_t>(t.actor())] = error.what();
    }
  });
  for (const std::string& text : texts) {
    EXPECT_EQ(text, "data.txt: 3 tokens are too few\n  hint: add some");
  }
}

TEST(Failures, DifferentPlansAreRefusedBeforeTheFirstStep) {
  const RunPlan plan = small_plan();
  RunPlan other = plan;
  other.train.seed = 7;
  std::vector<std::string> texts(3);
  with_actors(3, [&](Transport& t) {
    const RunPlan& mine = t.actor() == 2 ? other : plan;
    try {
      run_actor(mine, {}, fake, t);
    } catch (const RunError& error) {
      texts[static_cast<std::size_t>(t.actor())] = error.what();
    }
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("actors 2 run another plan than actor 0"));
  }
}

TEST(Failures, DeadlockIsFoundAtOnceAndExplained) {
  const RunPlan plan = fake_plan(generate("1f1b", {.actors = 2, .microbatches = 4}), false, 1,
                                 MessagePlacement::Naive);
  const auto texts = endings(plan, fake, {.rendezvous = true});
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_THAT(texts[0], HasSubstr("all actors are blocked"));
  EXPECT_THAT(texts[0], HasSubstr("actor 0: at send of the activation of 0F1 to actor 1"));
  EXPECT_THAT(texts[0], HasSubstr("actor 1: at send of the gradient of 1B0 to actor 0"));
}

TEST(Failures, MissingMessageIsNamed) {
  RunPlan plan = fake_plan(generate("1f1b", {.actors = 2, .microbatches = 2}), false, 1);
  std::vector<Action>& sender = plan.program.actions[0];
  sender.erase(std::find_if(sender.begin(), sender.end(),
                            [](const Action& a) { return a.kind == ActionKind::Send; }));
  const auto texts = endings(plan, fake);
  EXPECT_THAT(texts[1], HasSubstr("all actors are blocked"));
  EXPECT_THAT(texts[1], HasSubstr("actor 1: at 1F0, needs the activation of 0F0 from actor 0"));
  EXPECT_THAT(texts[1], HasSubstr("lacks message 0 of channel 0>1 (forward)"));
}

TEST(Failures, WhatCannotRunIsSaid) {
  RunPlan plan = small_plan();
  plan.program = lower(plan.program.schedule, {.shared = {}, .step_end = false});
  std::vector<std::string> texts(3);
  with_actors(3, [&](Transport& t) {
    try {
      run_actor(plan, {}, fake, t);
    } catch (const Error& error) {
      texts[static_cast<std::size_t>(t.actor())] = error.what();
    }
  });
  for (const std::string& text : texts) EXPECT_THAT(text, HasSubstr("the program has no step end"));
}

TEST(Failures, SchedulesThatNoExecutorRunsAreRefused) {
  const auto refusals = [](const Schedule& schedule) {
    std::vector<std::string> texts;
    for (const Problem& problem : executable_problems(lower(schedule))) {
      texts.push_back(to_string(problem));
    }
    return texts;
  };
  using testing::ElementsAre;
  const GenerateOptions sizes{.actors = 2, .microbatches = 2};
  EXPECT_THAT(refusals(generate("1f1b", sizes)), testing::IsEmpty());
  EXPECT_THAT(refusals(generate("forward_only", sizes)), testing::IsEmpty());
  EXPECT_THAT(refusals(generate("local", sizes)), testing::IsEmpty());
  Schedule sliced = generate("local", sizes);
  sliced.pipeline.microbatches[1].slice_tokens = {1, 1};
  for (std::vector<Step>& steps : sliced.order) {
    steps = {{{OpKind::Forward, steps[0].op.stage, 1, 0}},
             {{OpKind::Forward, steps[0].op.stage, 1, 1}}};
  }
  EXPECT_THAT(refusals(sliced),
              ElementsAre("local: token slices are not executable where stages learn in windows\n"
                          "  hint: `penstock simulate` can predict it"));
  EXPECT_THAT(refusals(generate("pipedream_2bw", sizes)), testing::IsEmpty());
  EXPECT_THAT(refusals(with_recompute(generate("1f1b", sizes))), testing::IsEmpty());
  Schedule queues = generate("1f1b", sizes);
  queues.pipeline.learning.queue_capacity = 1;
  EXPECT_THAT(refusals(queues), testing::IsEmpty());
}

}  // namespace
}  // namespace penstock
