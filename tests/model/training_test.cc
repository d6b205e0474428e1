// The CPU device, training on one actor.

#include <numeric>

#include <gtest/gtest.h>

#include "penstock/error.h"
#include "text_model.h"

namespace penstock::testing {
namespace {

Trained train(const Model& model, std::string_view schedule, std::int32_t stages,
              std::int32_t microbatches, std::int32_t steps, std::int32_t global = 8) {
  const Schedule made = generate(schedule, {.actors = stages, .microbatches = microbatches});
  const Batch batch = text_batch(global, microbatches);
  return Trainer(one_actor_plan(model, made, even_split(model, stages), batch, settings(steps)))
      .run(steps);
}

class Training : public ::testing::TestWithParam<NamedModel> {};

TEST_P(Training, LossFallsOnRealText) {
  const Trained trained = train(text_model(GetParam().model), "gpipe", 1, 4, 300);
  EXPECT_NEAR(trained.losses.front(), std::log(256.0), 0.3);
  const double last = std::accumulate(trained.losses.end() - 10, trained.losses.end(), 0.0) / 10;
  // The entropy of the text's single bytes is 3.21: below it, context has been learnt.
  EXPECT_LT(last, 3.1);
}

TEST_P(Training, SplitsOfOneScheduleGiveTheSameBits) {
  Model model = text_model(GetParam().model);
  model.layers = 4;
  const Trained whole = train(model, "gpipe", 1, 4, 4);
  for (const std::int32_t stages : {2, 4}) {
    const Trained split = train(model, "gpipe", stages, 4, 4);
    EXPECT_EQ(split.losses, whole.losses) << stages;
    EXPECT_EQ(split.norms, whole.norms) << stages;
    EXPECT_EQ(split.digests, whole.digests) << stages;
  }
}

TEST_P(Training, MicrobatchesDoNotChangeTheGradient) {
  const Model model = text_model(GetParam().model);
  const Trained one = train(model, "gpipe", 1, 1, 1);
  const Trained four = train(model, "gpipe", 1, 4, 1);
  EXPECT_NEAR(one.losses[0], four.losses[0], 1e-8 * one.losses[0]);
  EXPECT_NEAR(one.norms[0], four.norms[0], 1e-6 * one.norms[0]);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Training, ::testing::ValuesIn(all_tiny_models()),
                         [](const auto& info) { return info.param.name; });

// B replaced by I and W at once, or all W at the end: W runs in the same order.
TEST(TrainingOps, InputThenWeightGradientIsTheFullBackward) {
  const Model model = text_model(tiny_gpt2());
  const Schedule full = generate("1f1b", {.actors = 2, .microbatches = 4});
  Schedule halves = full;
  Schedule late = full;
  for (std::size_t actor = 0; actor < full.order.size(); ++actor) {
    halves.order[actor].clear();
    late.order[actor].clear();
    std::vector<Step> weights;
    for (const Step& step : full.order[actor]) {
      if (step.op.kind == OpKind::Forward) {
        halves.order[actor].push_back(step);
        late.order[actor].push_back(step);
        continue;
      }
      Step input = step;
      input.op.kind = OpKind::BackwardInput;
      Step weight = step;
      weight.op.kind = OpKind::BackwardWeight;
      halves.order[actor].push_back(input);
      halves.order[actor].push_back(weight);
      late.order[actor].push_back(input);
      weights.push_back(weight);
    }
    late.order[actor].insert(late.order[actor].end(), weights.begin(), weights.end());
  }
  const Batch batch = text_batch(8, 4);
  const auto run = [&](const Schedule& schedule) {
    return Trainer(one_actor_plan(model, schedule, even_split(model, 2), batch, settings(3)))
        .run(3);
  };
  const Trained expected = run(full);
  for (const Schedule& schedule : {halves, late}) {
    const Trained trained = run(schedule);
    EXPECT_EQ(trained.losses, expected.losses);
    EXPECT_EQ(trained.digests, expected.digests);
  }
}

// Every tensor's digest, before any step, by split.
TEST(CpuDevice, InitialValuesDoNotDependOnTheSplit) {
  for (const auto& [name, tiny] : all_tiny_models()) {
    Model model = text_model(tiny);
    model.layers = 4;
    const auto digests = [&](std::int32_t stages) {
      const Schedule schedule = generate("gpipe", {.actors = stages, .microbatches = 1});
      return Trainer(one_actor_plan(model, schedule, even_split(model, stages), text_batch(2, 1),
                                    settings(1)))
          .run(0)
          .digests;
    };
    EXPECT_EQ(digests(1).size(), model_tensors(model).size()) << name;
    EXPECT_EQ(digests(1), digests(2)) << name;
    EXPECT_EQ(digests(1), digests(4)) << name;
  }
}

TEST(CpuDevice, SeedsDiffer) {
  const Model model = text_model(tiny_gpt2());
  const Schedule schedule = generate("gpipe", {.actors = 1, .microbatches = 1});
  RunPlan plan =
      one_actor_plan(model, schedule, even_split(model, 1), text_batch(2, 1), settings(1));
  const auto first = Trainer(plan).run(0).digests;
  plan.train.seed = 2;
  EXPECT_NE(Trainer(plan).run(0).digests.at("transformer.wte.weight"),
            first.at("transformer.wte.weight"));
}

// Unequal microbatches are consecutive samples all the same.
TEST(CpuDevice, MicrobatchesMayDifferInSize) {
  const Model model = text_model(tiny_llama());
  Schedule schedule = generate("gpipe", {.actors = 1, .microbatches = 3});
  schedule.pipeline.microbatches[0].sequences = 1;
  schedule.pipeline.microbatches[1].sequences = 3;
  schedule.pipeline.microbatches[2].sequences = 2;
  const Batch batch = text_batch(6, 3);
  const Trained uneven =
      Trainer(one_actor_plan(model, schedule, even_split(model, 1), batch, settings(1))).run(1);
  const Trained whole = train(model, "gpipe", 1, 1, 1, 6);
  EXPECT_NEAR(uneven.losses[0], whole.losses[0], 1e-8 * whole.losses[0]);
  EXPECT_NEAR(uneven.norms[0], whole.norms[0], 1e-6 * whole.norms[0]);
}

TEST(CpuDevice, RefusesPlansItCannotTrain) {
  const Model model = text_model(tiny_gpt2());
  const Schedule schedule = generate("gpipe", {.actors = 1, .microbatches = 3});
  const RunPlan good =
      one_actor_plan(model, schedule, even_split(model, 1), text_batch(6, 3), settings(1));
  EXPECT_NO_THROW(make_cpu_device(good, 0));
  RunPlan plan = good;
  plan.batch.global = 7;
  EXPECT_THROW(make_cpu_device(plan, 0), Error);
  plan = good;
  plan.batch.sequence = 17;  // positions: 16
  EXPECT_THROW(make_cpu_device(plan, 0), Error);
  plan = good;
  plan.program.schedule.pipeline.microbatches[1].slice_tokens = {8, 7};
  EXPECT_THROW(make_cpu_device(plan, 0), Error);
  plan = good;
  plan.model->vocabulary = 100;  // the text has letters above
  EXPECT_THROW(make_cpu_device(plan, 0), Error);
  plan = good;
  plan.split.first = {0, model.layers + 1};  // no loss
  EXPECT_THROW(make_cpu_device(plan, 0), Error);
  plan = good;
  plan.split.first = {1, model.layers + 2};  // no embedding
  EXPECT_THROW(make_cpu_device(plan, 0), Error);
  plan = good;
  plan.train.data = "/nonexistent";
  EXPECT_THROW(make_cpu_device(plan, 0), Error);
}

}  // namespace
}  // namespace penstock::testing
