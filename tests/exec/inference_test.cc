// Forwards alone: the losses of the one-actor run, no gradient, and little memory.
#include <gtest/gtest.h>

#include "list_schedule.h"
#include "penstock/metrics.h"
#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

// Every actor runs its stages' forwards, microbatch by microbatch.
Schedule forwards(const Pipeline& pipeline) {
  Schedule schedule = list_schedule(pipeline);
  schedule.name = "forwards";
  for (std::vector<Step>& order : schedule.order) {
    std::erase_if(order, [](const Step& step) { return step.op.kind != OpKind::Forward; });
  }
  return schedule;
}

RunPlan inference_plan(const Model& model, const Schedule& schedule, const Split& split,
                       std::int32_t steps) {
  RunPlan plan = training_plan(model, schedule, split, steps);
  plan.program = lower(schedule, {.shared = {}, .step_end = false});
  return plan;
}

TEST(Inference, GivesTheLossesOfOneActor) {
  Model model = testing::text_model(testing::tiny_gpt2());
  model.layers = 4;
  for (const Pipeline& pipeline : {loop_pipeline(2, 2, 4), loop_pipeline(4, 1, 3), two_way(2, 1, 4),
                                   sliced(loop_pipeline(2, 1, 3), {9, 7})}) {
    const Schedule schedule = forwards(pipeline);
    const Split split = even_split(model, static_cast<std::int32_t>(pipeline.routes[0].size()));
    const RunResult one =
        run_in_process(inference_plan(model, on_one_actor(schedule), split, 3), make_device);
    const RunResult result = run_in_process(inference_plan(model, schedule, split, 3), make_device,
                                            {.seed = 1, .longest_delay = 100us});
    const RunResult trained =
        run_in_process(training_plan(model, list_schedule(pipeline), split, 3), make_device);
    EXPECT_EQ(result.steps[0].loss, trained.steps[0].loss);  // before the first update
    for (std::size_t i = 0; i < result.steps.size(); ++i) {
      EXPECT_EQ(result.steps[i].loss, one.steps[i].loss);
      EXPECT_TRUE(std::isnan(result.steps[i].gradient_norm));
    }
    EXPECT_NE(result.steps[0].loss, result.steps[1].loss);  // other text
    EXPECT_EQ(result.parameters_sha256, one.parameters_sha256);
    EXPECT_NE(result.parameters_sha256, trained.parameters_sha256);
  }
}

TEST(Inference, IsProfiled) {
  const Model model = testing::text_model(testing::tiny_llama());
  const RunPlan plan =
      inference_plan(model, forwards(loop_pipeline(2, 1, 3)), even_split(model, 2), 2);
  const RunResult result =
      run_in_process(plan, make_device, {}, {.profile_steps = 2, .on_step = {}});
  EXPECT_EQ(result.profile.global_norm, 0);
  for (const StageCosts& stage : result.profile.stages) {
    EXPECT_GT(stage.op[0]->base, 0);
    EXPECT_FALSE(stage.op[1].has_value());
    EXPECT_EQ(stage.update, 0);
  }
}

}  // namespace
}  // namespace penstock
