// Updates inside the order: every forward reads the weights that its place in the order says.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../add_updates.h"
#include "fake_device.h"
#include "list_schedule.h"
#include "optimizer/learning_rate.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "run_digest.h"
#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Model untied(Model model, std::int32_t layers = 4) {
  model = testing::text_model(model);
  model.tied_embeddings = false;
  model.layers = layers;
  return model;
}

Schedule two_buffered(std::int32_t actors, std::int32_t microbatches, std::int32_t steps) {
  return generate("pipedream_2bw", {.actors = actors,
                                    .microbatches = microbatches,
                                    .option = {{"steps", std::to_string(steps)}}});
}

// What the schedule says, by hand: batch b is computed with the weights from before the last
// batch's update. Four batches, so that their mean over one batch is exact.
struct ByHand {
  std::vector<double> losses;  // of each run of the schedule
  std::string digest;
};

ByHand by_hand(const Model& model, std::int32_t microbatches, const RunPlan& asynchronous) {
  constexpr std::int32_t kBatches = 4;
  const Schedule batch = generate("gpipe", {.actors = 1, .microbatches = microbatches});
  RunPlan plan = training_plan(model, batch, even_split(model, 1), 1);
  plan.train = asynchronous.train;
  const auto device = make_cpu_device(plan, 0);
  ByHand result;
  for (std::int64_t run = 0; run < plan.train.steps; ++run) {
    const double rate = learning_rate(plan.train.optimizer, run, plan.train.steps);
    std::vector<float> waiting;  // the last batch's gradient
    double loss = 0;
    const auto update = [&](std::int64_t number) {
      std::ranges::copy(waiting, device->gradients(0).begin());
      device->update(0, run * kBatches + number, rate, 1);
    };
    for (std::int64_t b = 0; b < kBatches; ++b) {
      device->begin_step(run * kBatches + b);
      device->clear_gradients();
      for (const Compute& compute : plan.program.computes) {
        device->run(compute.op, {}, {});
        if (compute.op.kind == OpKind::Forward) loss += device->loss_sum(compute.op);
      }
      const std::span<const float> gradients = device->gradients(0);
      const std::vector<float> made(gradients.begin(), gradients.end());
      if (b > 0) update(b - 1);
      waiting = made;
    }
    update(kBatches - 1);
    result.losses.push_back(loss / (asynchronous.batch.global * 16.0));
  }
  const std::string lines = digest_lines(device->parameters(0));
  result.digest = parameters_digest(std::span(&lines, 1));
  return result;
}

class Asynchronous : public ::testing::TestWithParam<testing::NamedModel> {};

TEST_P(Asynchronous, DoubleBufferedWeightsAreOneUpdateOld) {
  const Model model = untied(GetParam().model);
  for (const std::int32_t actors : {1, 2, 4}) {
    SCOPED_TRACE(actors);
    const RunPlan plan =
        training_plan(model, two_buffered(actors, 4, 4), even_split(model, actors), 3);
    const RunResult result = run_in_process(plan, make_device, {.seed = 3, .longest_delay = 100us});
    const ByHand expected = by_hand(model, 4, plan);
    ASSERT_EQ(result.steps.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(result.steps[i].loss, expected.losses[i]) << "step " << i;
      EXPECT_TRUE(std::isnan(result.steps[i].gradient_norm));
    }
    EXPECT_EQ(result.parameters_sha256, expected.digest);
    EXPECT_LT(result.steps[2].loss, result.steps[0].loss);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Asynchronous,
                         ::testing::Values(testing::NamedModel{"gpt2", testing::tiny_gpt2()},
                                           testing::NamedModel{"llama", testing::tiny_llama()}),
                         [](const auto& info) { return info.param.name; });

Schedule with_updates(Schedule schedule, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  add_updates(schedule, [&] { return random() % 2 == 0; });
  return schedule;
}

std::vector<Pipeline> shapes() {
  return {loop_pipeline(2, 1, 6), loop_pipeline(4, 1, 8), loop_pipeline(2, 2, 5), v_pipeline(2, 6),
          sliced(loop_pipeline(2, 1, 4), {9, 7})};
}

// Stages that update at different times, gradients of later microbatches that come before them.
TEST(Updates, ByChanceGiveTheBitsOfOneActor) {
  const Model model = untied(testing::tiny_gpt2());
  std::uint64_t seed = 0;
  std::int32_t most = 1;
  for (const Pipeline& pipeline : shapes()) {
    for (const bool recompute : {false, true}) {
      SCOPED_TRACE(++seed);
      Schedule schedule = with_updates(
          list_schedule(pipeline, {.seed = seed, .split = seed % 2 == 0, .pairs = seed % 3 == 0}),
          seed);
      if (recompute) schedule = with_recompute(std::move(schedule));
      const Split split = even_split(model, static_cast<std::int32_t>(pipeline.routes[0].size()));
      const RunResult one =
          run_in_process(training_plan(model, on_one_actor(schedule), split, 3), make_device);
      const RunPlan plan = training_plan(model, schedule, split, 3);
      const RunResult result =
          run_in_process(plan, make_device, {.seed = seed, .longest_delay = 100us});
      expect_same_bits(result, one);
      for (const ActorMetrics& actor : measure(result.measured).actors) {
        most = std::max(most, actor.weight_versions);
      }
      const RunResult fake_one = run_in_process(
          fake_plan(on_one_actor(schedule), false, 3),
          [](const RunPlan& p, std::int32_t) { return std::make_unique<FakeDevice>(p, false); });
      const RunResult fake = run_in_process(
          fake_plan(schedule, false, 3),
          [](const RunPlan& p, std::int32_t) { return std::make_unique<FakeDevice>(p, false); },
          {.seed = seed, .longest_delay = 100us});
      expect_same_bits(fake, fake_one);
    }
  }
  EXPECT_GE(most, 3) << "no stage kept old weights";
}

// Weights that are newer or older would give other bits.
TEST(Updates, OtherVersionsAreNoticed) {
  const Model model = untied(testing::tiny_gpt2());
  const Split split = even_split(model, 2);
  const Schedule schedule = two_buffered(2, 4, 2);
  const RunResult result = run_in_process(training_plan(model, schedule, split, 2), make_device);
  Schedule earlier = schedule;  // the first update of the last stage before a forward
  std::vector<Step>& order = earlier.order[1];
  const auto update =
      std::ranges::find_if(order, [](const Step& step) { return step.op.kind == OpKind::Update; });
  ASSERT_EQ((update - 2)->op.kind, OpKind::Backward);
  std::iter_swap(update, update - 1);  // in front of the batch's last forward
  const RunResult other = run_in_process(training_plan(model, earlier, split, 2), make_device);
  EXPECT_NE(result.steps[0].loss, other.steps[0].loss);
  EXPECT_NE(result.parameters_sha256, other.parameters_sha256);
}

// Versions and bytes: executed as predicted, and what the device really holds.
TEST(Updates, TakeThePredictedVersions) {
  const Model model = untied(testing::tiny_gpt2());
  for (const Schedule& schedule :
       {two_buffered(2, 4, 3), two_buffered(4, 4, 3),
        with_updates(generate("1f1b", {.actors = 4, .microbatches = 8}), 5)}) {
    const auto actors = schedule.pipeline.actors;
    const Split split = even_split(model, actors);
    const RunPlan plan = training_plan(model, schedule, split, 2);
    const RunResult result =
        run_in_process(plan, make_device, {}, {.profile_steps = 1, .on_step = {}});
    const Metrics measured = measure(result.measured);
    const Metrics predicted = measure(simulate(plan.program, result.profile));
    for (std::int32_t actor = 0; actor < actors; ++actor) {
      SCOPED_TRACE(actor);
      const auto a = static_cast<std::size_t>(actor);
      const ActorMetrics& one = measured.actors[a];
      EXPECT_EQ(one.weight_versions, predicted.actors[a].weight_versions);
      EXPECT_EQ(one.peak_bytes, predicted.actors[a].peak_bytes);
      EXPECT_EQ(one.peak_in_flight, predicted.actors[a].peak_in_flight);
      RunPlan flush = plan;
      flush.program = lower(generate("1f1b", {.actors = actors, .microbatches = 8}));
      const auto of_flush = make_cpu_device(flush, actor);
      const std::int64_t values = of_flush->weight_bytes(actor) / 4;
      const std::int64_t more = result.profile.stages[a].weight_bytes - 4 * values;
      // Beside the versions one more set of gradients at most: of the next batch.
      EXPECT_GE(more, (one.weight_versions - 1) * values);
      EXPECT_LE(more, one.weight_versions * values);
    }
  }
}

TEST(Updates, AreMeasuredAndReplayed) {
  const Model model = untied(testing::tiny_gpt2());
  const RunPlan plan = training_plan(model, two_buffered(2, 2, 3), even_split(model, 2), 4);
  const RunResult result =
      run_in_process(plan, make_device, {}, {.profile_steps = 2, .on_step = {}});
  EXPECT_TRUE(missing_costs(result.profile, plan.program.schedule).empty());
  EXPECT_EQ(result.profile.global_norm, 0);
  int updates = 0;
  for (const Span& span : result.measured.spans) updates += span.op.kind == OpKind::Update;
  EXPECT_EQ(updates, 2 * 3);
  for (const StageCosts& stage : result.profile.stages) EXPECT_GT(stage.update, 0);
  const RunResult without = run_in_process(plan, make_device);
  expect_same_bits(result, without);
}

TEST(Updates, KnowNoGlobalNorm) {
  const Model model = untied(testing::tiny_gpt2());
  RunPlan plan = training_plan(model, two_buffered(2, 2, 3), even_split(model, 2), 1);
  plan.train.optimizer.clip = 0.5;
  try {
    run_in_process(plan, make_device);
    FAIL() << "clipping should be refused";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "train.optimizer.clip: gradients are clipped by the norm over all stages, but each "
              "stage updates without the others\n  hint: set train.optimizer.clip to 0");
  }
}

TEST(Updates, AreSleptThrough) {
  RunPlan plan;
  plan.program = lower(two_buffered(2, 2, 3));
  plan.batch = {.global = 6, .micro = 1, .sequence = 1};
  plan.train.steps = 1;
  plan.train.device = DeviceKind::Sleep;
  plan.costs = parse_costs("F=1,B=1,update=2,bytes=64", 2);
  const RunResult result = run_in_process(plan, make_device);
  for (const Span& span : result.measured.spans) {
    const Nanoseconds least = span.op.kind == OpKind::Update ? 2'000'000 : 0;
    EXPECT_GE(span.end - span.start, least);
  }
  EXPECT_EQ(measure(result.measured).actors[0].weight_versions, 2);
}

// A loss that is no number ends the run, though nobody exchanges norms.
TEST(Updates, DivergenceIsNoticed) {
  const MakeDevice fake = [](const RunPlan& plan, std::int32_t) {
    FakeFaults faults;
    faults.nan_microbatch = 3;
    faults.nan_step = 1;
    return std::make_unique<FakeDevice>(plan, false, faults);
  };
  try {
    run_in_process(fake_plan(two_buffered(2, 2, 3), false, 3), fake);
    FAIL() << "the run should have failed";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("step 2: the loss of microbatch 3 is not a finite number"));
  }
}

}  // namespace
}  // namespace penstock
