// Token slices: a cache of keys and values forward, their gradients summed over slices backward.
#include <gtest/gtest.h>

#include "fake_device.h"
#include "list_schedule.h"
#include "penstock/check.h"
#include "penstock/simulate.h"
#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

struct Shape {
  std::string name;
  Pipeline pipeline;
};

// Sequences have 16 tokens.
std::vector<Shape> shapes() {
  std::vector<Shape> shapes{
      {"two even slices", sliced(loop_pipeline(2, 1, 4), {8, 8})},
      {"shares of a sequence", sliced(loop_pipeline(2, 1, 3), {1, 1, 1, 1})},
      {"uneven slices, two chunks", sliced(loop_pipeline(2, 2, 3), {7, 6, 3})},
      {"a token each at the end", sliced(loop_pipeline(4, 1, 2), {14, 1, 1})},
      {"one actor", sliced(loop_pipeline(1, 1, 3), {9, 7})},
      {"two ways", sliced(two_way(2, 1, 4), {8, 8})},
      {"a V", sliced(v_pipeline(2, 3), {4, 12})},
      {"microbatches cut differently", loop_pipeline(2, 1, 3)}};
  shapes.back().pipeline.microbatches[1].slice_tokens = {10, 6};
  shapes.back().pipeline.microbatches[2].slice_tokens = {4, 4, 8};
  return shapes;
}

TEST(Slices, AreBitIdenticalToOneActor) {
  const MakeDevice fake = [](const RunPlan& plan, std::int32_t) {
    return std::make_unique<FakeDevice>(plan, true);
  };
  for (const Shape& shape : shapes()) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(shape.name + ", seed " + std::to_string(seed));
      const Schedule schedule = list_schedule(
          shape.pipeline, {.seed = seed, .split = seed % 2 == 0, .pairs = seed % 3 == 0});
      ASSERT_TRUE(check(schedule).empty());
      const RunResult reference = run_in_process(fake_plan(on_one_actor(schedule), true, 3), fake);
      const RunResult result = run_in_process(fake_plan(schedule, true, 3), fake,
                                              {.seed = seed, .longest_delay = 100us});
      expect_same_bits(result, reference);
    }
  }
}

class SlicesTrained : public ::testing::TestWithParam<testing::NamedModel> {};

// Whole microbatches on one actor give the same losses and norms, but for rounding.
TEST_P(SlicesTrained, EqualTheReference) {
  constexpr std::int32_t kSteps = 8;
  Model model = testing::text_model(GetParam().model);
  model.layers = 4;
  std::uint64_t seed = 0;
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    const auto parts = static_cast<std::int32_t>(shape.pipeline.routes[0].size());
    const Split split = even_split(model, parts);
    ++seed;
    const Schedule schedule = list_schedule(
        shape.pipeline, {.seed = seed, .split = seed % 2 == 0, .pairs = seed % 3 == 0});
    Watch watch;
    const RunResult result =
        run_in_process(training_plan(model, schedule, split, kSteps, kUsualRate),
                       watched(make_device, watch), {.seed = seed, .longest_delay = 100us});
    const RunResult one_actor = run_in_process(
        training_plan(model, on_one_actor(schedule), split, kSteps, kUsualRate), make_device);
    expect_same_bits(result, one_actor);
    Watch plain_watch;
    const RunResult plain =
        run_in_process(training_plan(model, plain_schedule(schedule), split, kSteps, kUsualRate),
                       watched(make_device, plain_watch));
    expect_near(result, watch, plain, plain_watch);
    EXPECT_EQ(watch.different(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SlicesTrained, ::testing::ValuesIn(testing::all_tiny_models()),
                         [](const auto& info) { return info.param.name; });

// A message carries its slice's tokens and no others: a whole microbatch in slice 0 would show.
TEST(Slices, MessagesCarryTheirTokens) {
  const Model model = testing::text_model(testing::tiny_gpt2());
  const std::vector<std::int32_t> tokens{5, 8, 3};
  const Schedule schedule = list_schedule(sliced(loop_pipeline(2, 1, 4), tokens));
  const RunPlan plan = training_plan(model, schedule, even_split(model, 2), 3);
  const RunResult result = run_in_process(plan, make_device);
  ASSERT_EQ(result.measured.transfers.size(), 2U * 4 * 3);
  for (const Transfer& transfer : result.measured.transfers) {
    const std::int64_t sequences = plan.batch.micro;
    EXPECT_EQ(transfer.bytes,
              sequences * tokens[static_cast<std::size_t>(transfer.op.slice)] * model.hidden * 4);
  }
  for (const Traffic& traffic : result.traffic) {
    EXPECT_EQ(traffic.messages_sent, 3 * 4 * 3);
    EXPECT_EQ(traffic.bytes_sent, 3LL * 4 * plan.batch.micro * 16 * model.hidden * 4);
  }
}

// So do microbatches of different sizes: each message is as long as its microbatch.
TEST(Slices, MessagesCarryTheirSequences) {
  const Model model = testing::text_model(testing::tiny_llama());
  Pipeline pipeline = loop_pipeline(2, 1, 3);
  pipeline.microbatches[0].sequences = 1;
  pipeline.microbatches[1].sequences = 3;
  pipeline.microbatches[2].sequences = 2;
  const Schedule schedule = list_schedule(pipeline);
  const RunPlan plan = training_plan(model, schedule, even_split(model, 2), 2);  // 6 sequences
  const RunResult result = run_in_process(plan, make_device);
  ASSERT_EQ(result.measured.transfers.size(), 2U * 3);
  for (const Transfer& transfer : result.measured.transfers) {
    const auto microbatch = static_cast<std::size_t>(transfer.op.microbatch);
    EXPECT_EQ(transfer.bytes,
              pipeline.microbatches[microbatch].sequences * 16LL * model.hidden * 4);
  }
}

// Attention looks at earlier slices, and they learn from later ones: without either the loss or the
// gradient would be that of shorter sequences.
TEST(Slices, AreNotShorterSequences) {
  const Model model = testing::text_model(testing::tiny_llama());
  const Schedule whole = generate("gpipe", {.actors = 1, .microbatches = 2});
  const Schedule cut = list_schedule(sliced(loop_pipeline(1, 1, 2), {8, 8}));
  RunPlan plan = training_plan(model, cut, even_split(model, 1), 1);
  const RunResult sliced_run = run_in_process(plan, make_device);
  plan = training_plan(model, whole, even_split(model, 1), 1);
  const RunResult whole_run = run_in_process(plan, make_device);
  plan.batch.sequence = 8;
  const RunResult short_run = run_in_process(plan, make_device);
  EXPECT_NEAR(sliced_run.steps[0].gradient_norm, whole_run.steps[0].gradient_norm,
              1e-5 * whole_run.steps[0].gradient_norm);
  EXPECT_GT(std::abs(short_run.steps[0].gradient_norm - whole_run.steps[0].gradient_norm),
            1e-3 * whole_run.steps[0].gradient_norm);
}

TEST(Slices, ProfileTellsThemApart) {
  const Model model = testing::text_model(testing::tiny_gpt2());
  const Schedule schedule = list_schedule(sliced(loop_pipeline(2, 1, 4), {12, 4}));
  const RunPlan plan = training_plan(model, schedule, even_split(model, 2), 2);
  const RunResult result =
      run_in_process(plan, make_device, {}, {.profile_steps = 2, .on_step = {}});
  EXPECT_TRUE(missing_costs(result.profile, schedule).empty());
  const Duration& forward = *result.profile.stages[0].op[0];
  ASSERT_EQ(forward.varied.size(), 1U);
  ASSERT_EQ(forward.varied[0].size(), 2U);
  EXPECT_GT(forward.at(0, 0), 0);
  const std::int64_t token = std::int64_t{plan.batch.micro} * model.hidden * 4;
  EXPECT_EQ(result.profile.stages[0].message.varied,
            (std::vector<std::vector<std::int64_t>>{{12 * token, 4 * token}}));
  // So the prediction has the very messages that were sent.
  const Timeline predicted = simulate(plan.program, result.profile);
  std::int64_t bytes = 0;
  for (const Transfer& transfer : predicted.transfers) {
    if (transfer.from == 0) bytes += transfer.bytes;
    EXPECT_EQ(transfer.bytes, (transfer.op.slice == 0 ? 12 : 4) * token);
  }
  EXPECT_EQ(result.traffic[0].bytes_sent, 2 * bytes);
  // Through the file, too.
  EXPECT_EQ(read_costs(write_costs(result.profile), "costs.json").stages, result.profile.stages);
}

TEST(Slices, MustAddUpToTheSequence) {
  const Model model = testing::text_model(testing::tiny_gpt2());
  const Schedule schedule = list_schedule(sliced(loop_pipeline(1, 1, 2), {8, 7}));
  const RunPlan plan = training_plan(model, schedule, even_split(model, 1), 1);
  try {
    run_in_process(plan, make_device);
    FAIL() << "the run should have been refused";
  } catch (const Error& error) {
    ASSERT_EQ(error.problems().size(), 2U);  // both microbatches
    EXPECT_EQ(error.problems()[0].where, "batch.sequence");
    EXPECT_EQ(error.problems()[1].what,
              "16 tokens cannot be cut like microbatch 1, whose slices (8, 7) add up to 15");
  }
}

}  // namespace
}  // namespace penstock
