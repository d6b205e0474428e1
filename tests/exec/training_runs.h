// File: training_runs.h. Real training of a schedule, and the run that it must equal.
#pragma once

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "../model/text_model.h"
#include "actor_plan.h"
#include "runs.h"
#include "watched_device.h"

namespace penstock {

// Where sums are in another order, AdamW turns the rounding of a gradient that is nearly zero into
// a step of up to the learning rate: the distance of two runs is proportional to it.
constexpr double kUsualRate = 3e-3;

inline RunPlan training_plan(const Model& model, const Schedule& schedule, const Split& split,
                             std::int32_t steps, double learning_rate = 1e-2) {
  RunPlan plan;
  LowerOptions options;
  if (model.tied_embeddings) options.shared = tied_stages(schedule);
  plan.program = lower(schedule, options);
  plan.model = model;
  plan.split = split;
  const auto microbatches = static_cast<std::int32_t>(schedule.pipeline.microbatches.size());
  plan.batch = testing::text_batch(2 * microbatches, microbatches);
  plan.train = testing::settings(steps);
  plan.train.optimizer.lr = learning_rate;
  if (!exchanges_norms(plan.program)) plan.train.optimizer.clip = 0;
  return plan;
}

// One copy of the model on one actor, whole microbatches in order.
inline Schedule plain_schedule(const Schedule& schedule) {
  const auto parts = static_cast<std::int32_t>(schedule.pipeline.routes[0].size());
  const auto microbatches = static_cast<std::int32_t>(schedule.pipeline.microbatches.size());
  return on_one_actor(generate("gpipe", {.actors = parts, .microbatches = microbatches}));
}

inline void expect_same_bits(const RunResult& a, const RunResult& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].loss, b.steps[i].loss) << "step " << i;
    if (std::isnan(a.steps[i].gradient_norm) && std::isnan(b.steps[i].gradient_norm)) continue;
    EXPECT_EQ(a.steps[i].gradient_norm, b.steps[i].gradient_norm) << "step " << i;
  }
  EXPECT_EQ(a.parameters_sha256, b.parameters_sha256);
  EXPECT_EQ(a.parameters_sha256.size(), 64U);
}

// The tolerance for sums in another order: slices and mirrored copies.
inline void expect_near(const RunResult& result, const Watch& watch, const RunResult& reference,
                        const Watch& reference_watch) {
  ASSERT_EQ(result.steps.size(), reference.steps.size());
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    const StepRecord& a = result.steps[i];
    const StepRecord& b = reference.steps[i];
    EXPECT_NEAR(a.loss, b.loss, 1e-5 * b.loss) << "step " << i;
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-5 * b.gradient_norm) << "step " << i;
    EXPECT_LE(relative_distance(reference_watch.after()[i], watch.after()[i]), 1e-6)
        << "step " << i;
  }
}

}  // namespace penstock
