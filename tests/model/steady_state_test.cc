// A step allocates nothing: its durations are what the profile and the prediction rest on.
#include <gtest/gtest.h>

#include "counted_new.h"
#include "device/device.h"
#include "text_model.h"

namespace penstock::testing {
namespace {

class SteadyState : public ::testing::TestWithParam<NamedModel> {};

TEST_P(SteadyState, OpsAllocateNothing) {
  const Model model = text_model(GetParam().model);
  const Schedule schedule = generate("gpipe", {.actors = 1, .microbatches = 3});
  const RunPlan plan =
      one_actor_plan(model, schedule, even_split(model, 1), text_batch(6, 3), settings(4));
  const auto device = make_cpu_device(plan, 0);
  const auto step = [&](std::int64_t number) {
    device->begin_step(number);
    for (const Compute& compute : plan.program.computes) device->run(compute.op, {}, {});
    device->update(0, number, 1e-3, 1);
  };
  step(0);
  const std::int64_t before = allocations();
  step(1);
  EXPECT_EQ(allocations(), before);
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
  const auto device = make_cpu_device(plan, 0);
  const auto step = [&](std::int64_t number) {
    device->begin_step(number);
    for (const Compute& compute : plan.program.computes) device->run(compute.op, {}, {});
    device->update(0, number, 1e-3, 1);
  };
  step(0);
  const std::int64_t before = allocations();
  step(1);
  EXPECT_EQ(allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SteadyState, ::testing::ValuesIn(all_tiny_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::testing
