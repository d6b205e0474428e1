// The CPU device, training on one actor.
#include "training.h"

#include <numeric>

#include <gtest/gtest.h>

#include "tiny_models.h"

namespace penstock::testing {
namespace {

// Vocabulary of bytes, so that real text can be read.
Model text_model(Model model) {
  model.vocabulary = 256;
  model.max_positions = 16;
  return model;
}

// Blocks shared out evenly to `parts` parts; E in the first, L in the last.
Split even(const Model& model, std::int32_t parts) {
  Split split{{0}};
  for (std::int32_t part = 1; part < parts; ++part) {
    split.first.push_back(1 + model.layers * part / parts);
  }
  split.first.push_back(model.layers + 2);
  return split;
}

TrainSettings settings(std::int32_t steps) {
  TrainSettings train;
  train.steps = steps;
  train.optimizer.lr = 1e-2;
  train.optimizer.warmup_steps = 2;
  return train;
}

Trained train(const Model& model, std::string_view schedule, std::int32_t stages,
              std::int32_t microbatches, std::int32_t steps, std::int32_t global = 8) {
  const Schedule made = generate(schedule, {.actors = stages, .microbatches = microbatches});
  const Batch batch{.global = global, .micro = global / microbatches, .sequence = 16};
  return Trainer(one_actor_plan(model, made, even(model, stages), batch, settings(steps)))
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
  const Batch batch{.global = 8, .micro = 2, .sequence = 16};
  const auto run = [&](const Schedule& schedule) {
    return Trainer(one_actor_plan(model, schedule, even(model, 2), batch, settings(3))).run(3);
  };
  const Trained expected = run(full);
  for (const Schedule& schedule : {halves, late}) {
    const Trained trained = run(schedule);
    EXPECT_EQ(trained.losses, expected.losses);
    EXPECT_EQ(trained.digests, expected.digests);
  }
}

TEST(TrainingOps, RestoreUndoesSteps) {
  const Model model = text_model(tiny_llama());
  const Schedule schedule = generate("gpipe", {.actors = 1, .microbatches = 2});
  const Batch batch{.global = 4, .micro = 2, .sequence = 16};
  const RunPlan plan = one_actor_plan(model, schedule, even(model, 1), batch, settings(4));
  Trainer straight(plan);
  const Trained expected = straight.run(4);
  Trainer profiled(plan);
  profiled.device().save();
  profiled.run(3);
  profiled.device().restore();
  const Trained trained = profiled.run(4);
  EXPECT_EQ(trained.losses, expected.losses);
  EXPECT_EQ(trained.digests, expected.digests);
}

}  // namespace
}  // namespace penstock::testing
