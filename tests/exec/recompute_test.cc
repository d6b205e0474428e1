// Activations that are made again: the same bits, less memory, and the time is told apart.
#include <gtest/gtest.h>

#include "../generate_near.h"
#include "fake_device.h"
#include "list_schedule.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

const auto kChoices = {RecomputeChoice::Selective, RecomputeChoice::Full};

RunPlan recompute_plan(const Model& model, const Schedule& schedule, const Split& split,
                       RecomputeChoice choice, std::int32_t steps = 3) {
  RunPlan plan = training_plan(model, with_recompute(schedule), split, steps);
  plan.recompute = choice;
  return plan;
}

void expect_same_without(const Model& model, const Schedule& schedule, std::uint64_t seed) {
  const Split split =
      even_split(model, static_cast<std::int32_t>(schedule.pipeline.routes[0].size()));
  const RunResult without = run_in_process(training_plan(model, schedule, split, 3), make_device);
  for (const RecomputeChoice choice : kChoices) {
    SCOPED_TRACE(name(choice));
    Watch watch;
    const RunResult result =
        run_in_process(recompute_plan(model, schedule, split, choice), watched(make_device, watch),
                       {.seed = seed, .longest_delay = 100us});
    expect_same_bits(result, without);
    EXPECT_EQ(watch.different(), 0);
  }
}

TEST(Recompute, EveryScheduleGivesTheSameBits) {
  Model model = testing::text_model(testing::tiny_gpt2());
  model.layers = 8;
  std::uint64_t seed = 0;
  for (const Generator& generator : generators()) {
    const GenerateOptions sizes{.actors = 2, .chunks = 2, .microbatches = 4};
    std::optional<Schedule> schedule = generate_near(generator.name, sizes);
    if (!schedule) {
      GenerateOptions sliced = sizes;
      sliced.slices = 2;
      schedule = generate_near(generator.name, sliced);
    }
    if (!schedule || !learns(lower(*schedule, {.step_end = false}))) continue;
    if (!executable_problems(lower(*schedule)).empty()) continue;
    SCOPED_TRACE(generator.name);
    model.tied_embeddings = !updates_inside(*schedule);
    expect_same_without(model, *schedule, ++seed);
  }
  EXPECT_GE(seed, 20U);
}

class Recomputed : public ::testing::TestWithParam<testing::NamedModel> {};

// Split backwards, pairs, both routes, and slices whose keys and values later slices need.
TEST_P(Recomputed, ByChanceGivesTheSameBits) {
  Model model = testing::text_model(GetParam().model);
  model.layers = 4;
  std::uint64_t seed = 0;
  for (const Pipeline& pipeline :
       {loop_pipeline(2, 1, 4), v_pipeline(2, 3), two_way(2, 1, 4), two_way(2, 2, 4),
        sliced(loop_pipeline(2, 2, 3), {5, 8, 3}), sliced(two_way(2, 1, 4), {9, 7})}) {
    SCOPED_TRACE(++seed);
    expect_same_without(
        model,
        list_schedule(pipeline, {.seed = seed, .split = seed % 2 == 0, .pairs = seed % 3 == 0}),
        seed);
  }
}

TEST_P(Recomputed, EmptyPartsAndEndsGiveTheSameBits) {
  const Model model = testing::text_model(GetParam().model);  // two layers
  const Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 4});
  for (const char* layout : {"E|t||tL", "E|tt||L", "Ett|||L"}) {
    SCOPED_TRACE(layout);
    const Split split = parse_layout(layout, model);
    const RunResult without = run_in_process(training_plan(model, schedule, split, 3), make_device);
    for (const RecomputeChoice choice : kChoices) {
      expect_same_bits(run_in_process(recompute_plan(model, schedule, split, choice), make_device),
                       without);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Recomputed, ::testing::ValuesIn(testing::all_tiny_models()),
                         [](const auto& info) { return info.param.name; });

// Some units alone: the others keep everything.
TEST(Recompute, OfSomeMicrobatchesGivesTheSameBits) {
  Model model = testing::text_model(testing::tiny_gpt2());
  const Schedule plain = generate("zb_h1", {.actors = 2, .microbatches = 6});
  Schedule schedule = with_recompute(plain);
  for (std::vector<Step>& steps : schedule.order) {
    std::erase_if(steps, [](const Step& step) {
      return step.op.kind == OpKind::Recompute && step.op.microbatch % 3 == step.op.stage;
    });
  }
  const Split split = even_split(model, 2);
  const RunResult without = run_in_process(training_plan(model, plain, split, 3), make_device);
  for (const RecomputeChoice choice : kChoices) {
    RunPlan plan = training_plan(model, schedule, split, 3);
    plan.recompute = choice;
    expect_same_bits(run_in_process(plan, make_device), without);
  }
}

// R comes before its backward, and its input is still there.
TEST(Recompute, OnTheFakeDeviceTooWhichLooks) {
  for (const ScheduleCase& c : schedule_cases({2, 4}, {1, 3, 8})) {
    const std::optional<Schedule> schedule = make(c);
    if (!schedule) continue;
    SCOPED_TRACE(to_text(c));
    const MakeDevice fake = [](const RunPlan& plan, std::int32_t) {
      return std::make_unique<FakeDevice>(plan, true);
    };
    const RunResult result =
        run_in_process(fake_plan(with_recompute(*schedule), true, 3), fake, {.seed = 4});
    const RunResult without = run_in_process(fake_plan(*schedule, true, 3), fake);
    expect_same_bits(result, without);
  }
}

// The executed step's memory is the predicted one: less than without, in this order.
TEST(Recompute, TakesThePredictedMemory) {
  Model model = testing::text_model(testing::tiny_llama());
  model.layers = 8;
  const Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 8});
  const Split split = even_split(model, 4);
  const auto peaks = [&](const RunPlan& plan) {
    const RunResult result =
        run_in_process(plan, make_device, {}, {.profile_steps = 1, .on_step = {}});
    const Metrics measured = measure(result.measured);
    const Metrics predicted = measure(simulate(plan.program, result.profile));
    std::vector<std::int64_t> bytes;
    for (std::size_t actor = 0; actor < 4; ++actor) {
      EXPECT_EQ(measured.actors[actor].peak_bytes, predicted.actors[actor].peak_bytes);
      EXPECT_EQ(measured.actors[actor].peak_in_flight, predicted.actors[actor].peak_in_flight);
      bytes.push_back(measured.actors[actor].peak_bytes -
                      result.profile.stages[actor].weight_bytes);
    }
    return bytes;
  };
  const auto none = peaks(training_plan(model, schedule, split, 2));
  const auto selective = peaks(recompute_plan(model, schedule, split, RecomputeChoice::Selective));
  const auto full = peaks(recompute_plan(model, schedule, split, RecomputeChoice::Full));
  const std::int64_t message = 2 * 16 * model.hidden * 4;
  for (std::size_t actor = 0; actor < 4; ++actor) {
    const auto in_flight = static_cast<std::int64_t>(4 - actor);
    const std::int64_t all = none[actor] / in_flight;
    EXPECT_EQ(none[actor], in_flight * all);
    EXPECT_EQ(full[actor], (in_flight - 1) * (actor == 0 ? 0 : message) + all);
    if (in_flight == 1) continue;  // nothing waits
    EXPECT_LT(selective[actor], none[actor]);
    EXPECT_LT(full[actor], selective[actor]);
  }
}

// Keys and values stay for the slices behind.
TEST(Recompute, OfSlicesTakesThePredictedMemory) {
  const Model model = testing::text_model(testing::tiny_gpt2());
  const Schedule schedule = list_schedule(sliced(loop_pipeline(2, 1, 4), {8, 8}), {.seed = 3});
  const RunPlan plan = recompute_plan(model, schedule, even_split(model, 2), RecomputeChoice::Full);
  const RunResult result =
      run_in_process(plan, make_device, {}, {.profile_steps = 1, .on_step = {}});
  const std::int64_t values = 2 * 16 * 3 * model.hidden;  // of one layer
  ASSERT_TRUE(result.profile.stages[0].kept_bytes && result.profile.stages[1].kept_bytes);
  EXPECT_EQ(result.profile.stages[0].kept_bytes, 4 * values);
  EXPECT_EQ(result.profile.stages[1].kept_bytes, 4 * (values + 2 * 16 * model.hidden));
  const Metrics measured = measure(result.measured);
  const Metrics predicted = measure(simulate(plan.program, result.profile));
  for (std::size_t actor = 0; actor < 2; ++actor) {
    EXPECT_EQ(measured.actors[actor].peak_bytes, predicted.actors[actor].peak_bytes);
  }
}

TEST(Recompute, IsBusyTimeOfItsOwn) {
  Model model = testing::text_model(testing::tiny_gpt2());
  const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 4});
  const RunPlan plan = recompute_plan(model, schedule, even_split(model, 2), RecomputeChoice::Full);
  const RunResult result =
      run_in_process(plan, make_device, {}, {.profile_steps = 1, .on_step = {}});
  const Metrics metrics = measure(result.measured);
  for (std::size_t actor = 0; actor < 2; ++actor) {
    Nanoseconds remade = 0;
    for (const Span& span : result.measured.spans) {
      const bool is_r = span.kind == ActionKind::Compute && span.op.kind == OpKind::Recompute;
      if (is_r && span.actor == static_cast<std::int32_t>(actor)) remade += span.end - span.start;
    }
    EXPECT_GT(remade, 0);
    EXPECT_EQ(metrics.actors[actor].recompute, remade);
    EXPECT_GT(metrics.actors[actor].busy, remade);
    EXPECT_GT(result.profile.stages[actor].op[4]->base, 0);
  }
  EXPECT_TRUE(missing_costs(result.profile, plan.program.schedule).empty());
}

TEST(Recompute, SleepsAsLongAsTheCostsSay) {
  RunPlan plan;
  plan.program = lower(with_recompute(generate("1f1b", {.actors = 2, .microbatches = 3})));
  plan.batch = {.global = 3, .micro = 1, .sequence = 1};
  plan.train.steps = 1;
  plan.train.device = DeviceKind::Sleep;
  plan.costs = parse_costs("F=1,B=1,R=3,bytes=64,activation=100", 2);
  const RunResult result = run_in_process(plan, make_device);
  const Metrics measured = measure(result.measured);
  const Metrics predicted = measure(simulate(plan.program, plan.costs));
  for (std::size_t actor = 0; actor < 2; ++actor) {
    EXPECT_GE(measured.actors[actor].recompute, 3 * 3'000'000);
    EXPECT_EQ(measured.actors[actor].peak_bytes, predicted.actors[actor].peak_bytes);
  }
}

}  // namespace
}  // namespace penstock
