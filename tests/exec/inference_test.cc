// Forwards alone: the losses of the one-actor run, no gradient, and little memory.
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "forwarding_device.h"
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

// Every activation that a stage gets or gives, and every loss: what the logits are made of.
class RecordingDevice final : public ForwardingDevice {
 public:
  using Seen = std::map<Op, std::vector<float>>;
  struct Record {
    std::mutex mutex;
    Seen inputs, outputs;
    std::map<Op, double> losses;
  };

  RecordingDevice(std::unique_ptr<Device> device, const Pipeline& pipeline, Record& record)
      : ForwardingDevice(std::move(device)), pipeline_(pipeline), record_(record) {}

  void run(const Op& op, std::span<const float> input, std::span<float> output) override {
    device_->run(op, input, output);
    const std::lock_guard lock(record_.mutex);
    record_.inputs[op] = {input.begin(), input.end()};
    record_.outputs[op] = {output.begin(), output.end()};
    const Microbatch& microbatch = pipeline_.microbatches[static_cast<std::size_t>(op.microbatch)];
    const Route& route = pipeline_.routes[static_cast<std::size_t>(microbatch.route)];
    if (op.stage == route.back()) record_.losses[op] = device_->loss_sum(op);
  }

 private:
  const Pipeline& pipeline_;
  Record& record_;
};

TEST(Inference, GivesTheActivationsAndLossesOfOneActor) {
  Model model = testing::text_model(testing::tiny_llama());
  model.layers = 4;
  for (const GenerateOptions& sizes : {GenerateOptions{.actors = 2, .chunks = 2, .microbatches = 5},
                                       GenerateOptions{.actors = 4, .microbatches = 3}}) {
    const Schedule schedule = generate("forward_only", sizes);
    const Split split = even_split(model, 4);
    RecordingDevice::Record records[2];
    for (const bool one_actor : {false, true}) {
      run_in_process(training_plan(model, one_actor ? on_one_actor(schedule) : schedule, split, 1),
                     [&](const RunPlan& plan, std::int32_t actor) {
                       return std::make_unique<RecordingDevice>(make_cpu_device(plan, actor),
                                                                plan.program.schedule.pipeline,
                                                                records[one_actor ? 1 : 0]);
                     });
    }
    EXPECT_EQ(records[0].outputs.size(), 4U * static_cast<std::size_t>(sizes.microbatches));
    EXPECT_EQ(records[0].inputs, records[1].inputs);
    EXPECT_EQ(records[0].outputs, records[1].outputs);
    EXPECT_EQ(records[0].losses.size(), static_cast<std::size_t>(sizes.microbatches));
    EXPECT_EQ(records[0].losses, records[1].losses);
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
