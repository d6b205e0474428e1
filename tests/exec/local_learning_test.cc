// Local learning, executed: a loss on top of each window, and gradients that stay inside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_device.h"
#include "list_schedule.h"
#include "local_runs.h"
#include "penstock/check.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Local : public ::testing::TestWithParam<LocalCase> {};

// On as many actors as stages, in the same order on one, and what was predicted.
TEST_P(Local, GivesTheBitsOfTheSequentialRun) {
  const Schedule schedule = local_schedule(GetParam(), 4, 5);
  const Model model = local_model(schedule, testing::tiny_gpt2());
  const Split split = even_split(model, 4);
  const RunPlan plan = training_plan(model, schedule, split, 3);
  Watch watch;
  const RunResult result =
      run_in_process(plan, watched(make_device, watch), {.seed = 7, .longest_delay = 100us});
  const RunResult one =
      run_in_process(training_plan(model, on_one_actor(schedule), split, 3), make_device);
  expect_same_bits(result, one);
  const std::size_t losses = windows_of(schedule.pipeline.learning, 4).size();
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    EXPECT_EQ(result.steps[i].window_losses, one.steps[i].window_losses);
    ASSERT_EQ(result.steps[i].window_losses.size(), losses);
    EXPECT_EQ(result.steps[i].window_losses.back(), result.steps[i].loss);
    EXPECT_TRUE(std::isnan(result.steps[i].gradient_norm));
  }
  const std::int64_t bytes = 2 * 16 * model.hidden * 4;
  const CostTable costs = parse_costs(fmt::format("F=2,B=4,I=2,W=2,bytes={}", bytes), 4);
  const Timeline predicted = simulate(plan.program, costs);
  const Metrics metrics = measure(predicted);
  const Metrics measured = measure(result.measured);
  for (std::int32_t actor = 0; actor < 4; ++actor) {
    const auto a = static_cast<std::size_t>(actor);
    EXPECT_EQ(watch.peak_in_flight(actor), metrics.actors[a].peak_in_flight);
    EXPECT_EQ(measured.actors[a].peak_in_flight, metrics.actors[a].peak_in_flight);
    EXPECT_EQ(measured.actors[a].weight_versions, metrics.actors[a].weight_versions);
    Traffic traffic;
    for (const Transfer& transfer : predicted.transfers) {
      if (transfer.from != actor) continue;
      ++traffic.messages_sent;
      traffic.bytes_sent += transfer.bytes;
    }
    EXPECT_EQ(result.traffic[a].messages_sent, 3 * traffic.messages_sent);
    EXPECT_EQ(result.traffic[a].bytes_sent, 3 * traffic.bytes_sent);
  }
}

// By chance, split and in pairs, on the device that looks at what it gets; and with recomputation.
TEST_P(Local, ByChanceGivesTheBitsOfTheSequentialRun) {
  const Learning learning = local_schedule(GetParam(), 4, 5).pipeline.learning;
  std::uint64_t seed = 0;
  for (Pipeline pipeline : {loop_pipeline(4, 1, 5), loop_pipeline(2, 2, 4), v_pipeline(2, 4)}) {
    SCOPED_TRACE(++seed);
    pipeline.learning = learning;
    pipeline.learning.queue_capacity = 0;
    Schedule schedule =
        list_schedule(pipeline, {.seed = seed, .split = seed % 2 == 0, .pairs = seed == 3});
    ASSERT_TRUE(check(schedule).empty());
    const MakeDevice fake = [](const RunPlan& p, std::int32_t) {
      return std::make_unique<FakeDevice>(p, true);
    };
    expect_same_bits(
        run_in_process(fake_plan(schedule, true, 3), fake, {.seed = seed, .longest_delay = 100us}),
        run_in_process(fake_plan(on_one_actor(schedule), true, 3), fake));
    const Model model = local_model(schedule, testing::tiny_llama());
    const Split split = even_split(model, 4);
    const RunResult one =
        run_in_process(training_plan(model, on_one_actor(schedule), split, 2), make_device);
    for (const RecomputeChoice choice :
         {RecomputeChoice::None, RecomputeChoice::Selective, RecomputeChoice::Full}) {
      const bool recomputes = choice != RecomputeChoice::None;
      RunPlan plan =
          training_plan(model, recomputes ? with_recompute(schedule) : schedule, split, 2);
      plan.recompute = choice;
      const RunResult result =
          run_in_process(plan, make_device, {.seed = seed, .longest_delay = 100us});
      expect_same_bits(result, one);
      EXPECT_EQ(result.steps[1].window_losses, one.steps[1].window_losses);
    }
  }
}

// Each stage's gradient is the slope of the losses that it learns from, and of no other.
TEST_P(Local, GradientsAreThoseOfTheirWindows) {
  LocalCase local = GetParam();
  // One update for both microbatches: the step's gradient is there at its end.
  if (local.option.contains("variant") && local.option.at("variant") == "ppll") {
    local.option["update_every"] = "2";
  }
  const Schedule schedule = local_schedule(local, 4, 2);
  for (Model model : {testing::tiny_gpt2(), testing::tiny_llama()}) {
    model.tied_embeddings = false;
    expect_slopes(testing::text_model(model), schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Local, ::testing::ValuesIn(local_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(LocalLearning, OneWindowIsBackpropagation) {
  const Model model = testing::text_model(testing::tiny_gpt2());
  const Split split = even_split(model, 2);
  const RunResult local = run_in_process(
      training_plan(model, local_schedule({"", {{"window", "2"}}}, 2, 4), split, 4), make_device);
  RunPlan plan = training_plan(model, generate("1f1b", {.actors = 2, .microbatches = 4}), split, 4);
  plan.train.optimizer.clip = 0;
  const RunResult backprop = run_in_process(plan, make_device);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(local.steps[i].loss, backprop.steps[i].loss);
  EXPECT_EQ(local.parameters_sha256, backprop.parameters_sha256);
  EXPECT_THAT(local.steps[0].window_losses, ElementsAre(local.steps[0].loss));
  EXPECT_TRUE(backprop.steps[0].window_losses.empty());
}

// Four stages on one, two or four actors, in the order of microbatches.
TEST(LocalLearning, GreedyDoesNotDependOnTheNumberOfActors) {
  const Schedule four = local_schedule({"", {}}, 4, 4);
  const Model model = local_model(four, testing::tiny_gpt2());
  const Split split = even_split(model, 4);
  const RunResult expected = run_in_process(training_plan(model, four, split, 4), make_device);
  for (Pipeline pipeline : {loop_pipeline(1, 4, 4), loop_pipeline(2, 2, 4), v_pipeline(2, 4)}) {
    pipeline.learning = four.pipeline.learning;
    Schedule schedule{.name = "greedy", .pipeline = pipeline, .order = {}};
    schedule.order.resize(static_cast<std::size_t>(pipeline.actors));
    for (std::int32_t m = 0; m < 4; ++m) {
      for (std::int32_t stage = 0; stage < 4; ++stage) {
        const Stage& place = pipeline.stages[static_cast<std::size_t>(stage)];
        std::vector<Step>& order = schedule.order[static_cast<std::size_t>(place.actor)];
        order.push_back({{OpKind::Forward, stage, m, 0}});
        order.push_back({{OpKind::Backward, stage, m, 0}});
      }
    }
    ASSERT_TRUE(check(schedule).empty());
    const RunResult result = run_in_process(training_plan(model, schedule, split, 4), make_device);
    expect_same_bits(result, expected);
    EXPECT_EQ(result.steps[3].window_losses, expected.steps[3].window_losses);
  }
  EXPECT_LT(expected.steps[3].window_losses[0], expected.steps[0].window_losses[0]);
  EXPECT_LT(expected.steps[3].loss, expected.steps[0].loss);
}

// A stage's own loss and parameters do not know what is behind it.
TEST(LocalLearning, NothingComesBackFromBehindAWindow) {
  const Schedule schedule = local_schedule({"", {{"variant", "chunked"}}}, 4, 2);
  const Model model = local_model(schedule, testing::tiny_llama());
  const Split split = even_split(model, 4);
  const RunResult result = run_in_process(training_plan(model, schedule, split, 3), make_device);
  Model longer = model;
  longer.layers = 8;  // the same first two stages, more layers behind
  Split more = even_split(model, 4);
  more.first = {0, 2, 3, 6, 10};
  ASSERT_EQ(split.first[2], 3);
  const RunResult other = run_in_process(training_plan(longer, schedule, more, 3), make_device);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.steps[i].window_losses[0], other.steps[i].window_losses[0]);
    EXPECT_NE(result.steps[i].loss, other.steps[i].loss);
  }
}

TEST(LocalLearning, HeadsAreParametersWithNamesOfTheirOwn) {
  const Schedule schedule = local_schedule({"", {}}, 4, 2);
  const Model model = local_model(schedule, testing::tiny_gpt2());
  const RunPlan plan = training_plan(model, schedule, even_split(model, 4), 1);
  std::vector<std::string> names;
  for (const ParameterView& view : make_cpu_device(plan, 1)->parameters(1)) {
    if (view.name.starts_with("aux.")) names.push_back(view.name);
  }
  EXPECT_THAT(names, ElementsAre("aux.2.ln_f.weight", "aux.2.ln_f.bias", "aux.2.lm_head.weight"));
}

std::string failure(const RunPlan& plan) {
  try {
    run_in_process(plan, make_device);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(LocalLearning, WhatMakesNoSenseIsRefused) {
  const Model model = testing::text_model(testing::tiny_gpt2());  // two layers
  const Schedule schedule = local_schedule({"", {}}, 4, 2);
  RunPlan plan = training_plan(model, schedule, parse_layout("Et||t|L", model), 1);
  EXPECT_EQ(failure(plan),
            "schedule.layout: a window ends with stage 1, which holds nothing of the model\n"
            "  hint: give it a layer, or let the window end elsewhere");
  plan.split = parse_layout("E|t|t|L", model);
  EXPECT_EQ(failure(plan), "");
  plan.train.optimizer.clip = 1;
  EXPECT_THAT(failure(plan), HasSubstr("train.optimizer.clip: gradients are clipped by the norm"));
}

// Route 1 passes by part 1: of parts 0, 1, 2, 3 windows of two end with 1 and 3, of 0, 2, 3 with 2
// and 3.
TEST(LocalLearning, CopiesHaveTheSameWindows) {
  Pipeline pipeline{.actors = 1, .stages = {}, .routes = {}, .microbatches = {}};
  for (const std::int32_t part : {0, 1, 2, 3, 0, 2, 3}) pipeline.stages.push_back({0, part});
  pipeline.routes = {{0, 1, 2, 3}, {4, 5, 6}};
  pipeline.microbatches = {{.route = 0}, {.route = 1}};
  pipeline.learning = {.kind = LearningKind::Local, .window = 2, .stride = 2};
  const Schedule schedule = list_schedule(pipeline);
  const Model model = local_model(schedule, testing::tiny_llama());
  EXPECT_EQ(failure(training_plan(model, schedule, even_split(model, 4), 1)),
            "schedule: stages 2 and 5 are copies of one part, but a window ends with one of them "
            "alone\n  hint: routes over the same parts have the same windows");
}

// Two routes over the same parts, each with a copy of the heads.
TEST(LocalLearning, CopiesOfHeadsStayEqual) {
  Pipeline pipeline = two_way(4, 1, 4);
  pipeline.learning = {.kind = LearningKind::Local, .window = 2, .stride = 1};
  const Schedule schedule = list_schedule(pipeline, {.seed = 3});
  const Model model = local_model(schedule, testing::tiny_gpt2());
  const Split split = even_split(model, 4);
  Watch watch;
  const RunResult result = run_in_process(training_plan(model, schedule, split, 3),
                                          watched(make_device, watch), {.seed = 3});
  EXPECT_GT(watch.copies(), 0);
  EXPECT_EQ(watch.different(), 0);
  EXPECT_TRUE(watch.after()[2].contains("aux.2.lm_head.weight"));
  expect_same_bits(
      result, run_in_process(training_plan(model, on_one_actor(schedule), split, 3), make_device));
  EXPECT_EQ(result.steps[0].window_losses.size(), 3U);
}

TEST(LocalLearning, IsProfiled) {
  const Schedule schedule = local_schedule({"", {{"variant", "overlapping"}}}, 4, 3);
  const Model model = local_model(schedule, testing::tiny_gpt2());
  const RunPlan plan = training_plan(model, schedule, even_split(model, 4), 2);
  const RunResult result =
      run_in_process(plan, make_device, {}, {.profile_steps = 1, .on_step = {}});
  EXPECT_TRUE(missing_costs(result.profile, schedule).empty());
  EXPECT_EQ(result.profile.global_norm, 0);
  expect_same_bits(result, run_in_process(plan, make_device));
  const Metrics measured = measure(result.measured);
  const Metrics predicted = measure(simulate(plan.program, result.profile));
  for (std::size_t actor = 0; actor < 4; ++actor) {
    EXPECT_EQ(measured.actors[actor].peak_bytes, predicted.actors[actor].peak_bytes);
  }
}

}  // namespace
}  // namespace penstock
