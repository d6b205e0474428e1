// A step allocates nothing: its durations are what the profile and the prediction rest on.
#include <gtest/gtest.h>

#include "counted_new.h"
#include "device/device.h"
#include "text_model.h"

namespace penstock::testing {
namespace {

class SteadyState : public ::testing::TestWithParam<NamedModel> {};

// A first step may: buffers of libraries.
void expect_no_allocation(const RunPlan& plan, std::span<const float> input = {},
                          std::span<float> output = {}) {
  const auto device = make_cpu_device(plan, 0);
  const auto step = [&](std::int64_t number) {
    device->begin_step(number);
    device->clear_gradients();
    for (const Compute& compute : plan.program.computes) device->run(compute.op, input, output);
    device->update(0, number, 1e-3, 1);
  };
  step(0);
  const std::int64_t before = allocations();
  step(1);
  EXPECT_EQ(allocations(), before);
}

TEST_P(SteadyState, OpsAllocateNothing) {
  const Model model = text_model(GetParam().model);
  const Schedule schedule = generate("gpipe", {.actors = 1, .microbatches = 3});
  const RunPlan plan =
      one_actor_plan(model, schedule, even_split(model, 1), text_batch(6, 3), settings(4));
  expect_no_allocation(plan);
}

TEST_P(SteadyState, OpsOnSlicesAllocateNothing) {
  const Model model = text_model(GetParam().model);
  Schedule schedule{.name = "sliced", .pipeline = loop_pipeline(1, 1, 2), .order = {{}}};
  for (std::int32_t m = 0; m < 2; ++m) {
    schedule.pipeline.microbatches[static_cast<std::size_t>(m)].slice_tokens = {7, 5, 4};
    for (std::int32_t k = 0; k < 3; ++k) {
      schedule.order[0].push_back({{OpKind::Forward, 0, m, k}, false});
    }
    for (std::int32_t k = 2; k >= 0; --k) {
      schedule.order[0].push_back({{OpKind::Backward, 0, m, k}, false});
    }
  }
  const RunPlan plan =
      one_actor_plan(model, schedule, even_split(model, 1), text_batch(4, 2), settings(4));
  expect_no_allocation(plan);
}

TEST_P(SteadyState, RecomputationAllocatesNothingInAStepEither) {
  const Model model = text_model(GetParam().model);
  const Schedule schedule = with_recompute(generate("gpipe", {.actors = 1, .microbatches = 3}));
  const RunPlan plan =
      one_actor_plan(model, schedule, even_split(model, 1), text_batch(6, 3), settings(4));
  expect_no_allocation(plan);
}

// Windows of two that overlap: stage 1 has a head of its own, and gets a gradient for its weights.
TEST_P(SteadyState, LocalLearningAllocatesNothingInAStepEither) {
  Model model = text_model(GetParam().model);
  model.layers = 3;
  Schedule schedule = generate(
      "local",
      {.actors = 3, .microbatches = 3, .option = {{"variant", "overlapping"}, {"aux", "block"}}});
  const RunPlan plan =
      one_actor_plan(model, schedule, even_split(model, 3), text_batch(6, 3), settings(4));
  const std::vector<float> input(2UL * 16 * static_cast<std::size_t>(model.hidden), 0.1F);
  std::vector<float> output(input.size());
  expect_no_allocation(plan, input, output);
}

// What a device really takes for activations is what it reports: of those in flight all but one
// microbatch hold what they keep, and that one everything.
TEST_P(SteadyState, RecomputationTakesTheReportedMemory) {
  Model model = text_model(GetParam().model);
  model.layers = 4;
  const Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 6});
  RunPlan plan;
  plan.model = model;
  plan.split = even_split(model, 4);
  plan.batch = text_batch(12, 6);
  plan.train = settings(2);
  for (std::int32_t actor = 0; actor < 4; ++actor) {
    const auto bytes = [&](const Schedule& of, std::int64_t& difference) {
      plan.program = lower(of);
      const std::int64_t before = aligned_bytes();
      const auto device = make_cpu_device(plan, actor);
      difference = device->activation_bytes(actor) - device->kept_bytes(actor);
      return aligned_bytes() - before;
    };
    std::int64_t none = 0;
    const std::int64_t without = bytes(schedule, none);
    EXPECT_EQ(none, 0);
    for (const RecomputeChoice choice : {RecomputeChoice::Selective, RecomputeChoice::Full}) {
      SCOPED_TRACE(name(choice));
      plan.recompute = choice;
      std::int64_t remade = 0;
      const std::int64_t with = bytes(with_recompute(schedule), remade);
      EXPECT_GT(remade, 0);
      EXPECT_EQ(with, without - (3 - actor) * remade);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SteadyState, ::testing::ValuesIn(all_tiny_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::testing
