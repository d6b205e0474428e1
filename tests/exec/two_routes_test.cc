// Two routes with mirrored copies of every part, V placement, pairs and split backwards.
#include <gtest/gtest.h>

#include "fake_device.h"
#include "list_schedule.h"
#include "penstock/check.h"
#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

struct Shape {
  std::string name;
  Pipeline pipeline;
};

std::vector<Shape> shapes() {
  return {{"two ways, two actors", two_way(2, 1, 6)}, {"two ways, four actors", two_way(4, 1, 5)},
          {"two Vs, two actors", two_way(2, 2, 4)},   {"two ways, one actor", two_way(1, 1, 3)},
          {"a V, two actors", v_pipeline(2, 4)},      {"a V, four actors", v_pipeline(4, 3)}};
}

std::vector<ListOptions> variants(std::uint64_t seed) {
  return {{.seed = seed},
          {.seed = seed, .split = true},
          {.seed = seed, .pairs = true},
          {.seed = seed, .split = true, .pairs = true}};
}

// The fake device's bits depend on the order of every sum.
TEST(TwoRoutes, AreBitIdenticalToOneActor) {
  const MakeDevice fake = [](const RunPlan& plan, std::int32_t) {
    return std::make_unique<FakeDevice>(plan, true);
  };
  int pairs = 0;
  for (const Shape& shape : shapes()) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      for (const ListOptions& options : variants(seed)) {
        SCOPED_TRACE(shape.name + ", seed " + std::to_string(seed));
        const Schedule schedule = list_schedule(shape.pipeline, options);
        ASSERT_TRUE(check(schedule).empty());
        for (const auto& order : schedule.order) {
          pairs += static_cast<int>(std::count_if(
              order.begin(), order.end(), [](const Step& step) { return step.overlaps_previous; }));
        }
        const RunResult reference =
            run_in_process(fake_plan(on_one_actor(schedule), true, 3), fake);
        const RunResult result = run_in_process(fake_plan(schedule, true, 3), fake,
                                                {.seed = seed, .longest_delay = 100us});
        expect_same_bits(result, reference);
        run_in_process(fake_plan(schedule, true, 1), fake, {.rendezvous = true});
      }
    }
  }
  EXPECT_GE(pairs, 100);
}

class TwoRoutesTrained : public ::testing::TestWithParam<testing::NamedModel> {};

// Against the same stages on one actor to the bit, against a model with one copy of the weights
// within the tolerance; the copies agree after every step.
TEST_P(TwoRoutesTrained, EqualTheReference) {
  constexpr std::int32_t kSteps = 8;
  Model model = testing::text_model(GetParam().model);
  model.layers = 4;
  std::uint64_t seed = 0;
  for (const Shape& shape : shapes()) {
    const auto parts = static_cast<std::int32_t>(shape.pipeline.routes[0].size());
    if (parts > model.layers) model.layers = parts;
    const Split split = even_split(model, parts);
    ++seed;
    const ListOptions options = variants(seed)[seed % 4];
    SCOPED_TRACE(shape.name);
    const Schedule schedule = list_schedule(shape.pipeline, options);
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
    EXPECT_LT(result.steps.back().loss, result.steps.front().loss);
    EXPECT_EQ(watch.different(), 0);
    const auto tensors = static_cast<std::int64_t>(model_tensors(model).size());
    const auto mirrored = static_cast<std::int64_t>(shape.pipeline.routes.size()) - 1;
    EXPECT_GE(watch.copies(), mirrored * kSteps * tensors);
    EXPECT_EQ(static_cast<std::int64_t>(watch.after().back().size()), tensors);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TwoRoutesTrained,
                         ::testing::Values(testing::NamedModel{"gpt2_tied", testing::tiny_gpt2()},
                                           testing::NamedModel{"llama_tied",
                                                               [] {
                                                                 Model m = testing::tiny_llama();
                                                                 m.tied_embeddings = true;
                                                                 return m;
                                                               }()},
                                           testing::NamedModel{"llama_untied",
                                                               testing::tiny_llama()}),
                         [](const auto& info) { return info.param.name; });

// Without the reduction each copy would learn from its own microbatches: the test above would see.
TEST(TwoRoutes, CopiesNeedTheReduction) {
  const Model model = testing::text_model(testing::tiny_llama());
  const Schedule schedule = list_schedule(two_way(2, 1, 4));
  RunPlan plan = training_plan(model, schedule, even_split(model, 2), 2);
  for (std::vector<Action>& actions : plan.program.actions) {
    std::erase_if(actions, [](const Action& a) { return a.kind == ActionKind::ReduceGradients; });
  }
  Watch watch;
  EXPECT_THROW(run_in_process(plan, watched(make_device, watch)), RunError);
  EXPECT_GT(watch.different(), 0);
}

// A pair starts when the inputs of both ops are there, its first op does not run ahead, and what it
// makes leaves when both have ended.
TEST(TwoRoutes, PairsStartTogether) {
  const Schedule schedule = list_schedule(two_way(2, 1, 8), {.seed = 3, .pairs = true});
  RunPlan plan = fake_plan(schedule, false, 2);
  plan.train.device = DeviceKind::Sleep;
  plan.costs = parse_costs("F=1,B=1", 4);
  const RunResult result = run_in_process(plan, make_device, {.seed = 1, .longest_delay = 2000us});
  const Timeline& timeline = result.measured;
  int pairs = 0;
  for (std::size_t i = 1; i < timeline.spans.size(); ++i) {
    const Span& second = timeline.spans[i];
    if (!second.overlaps_previous) continue;
    ++pairs;
    const Span& first = timeline.spans[i - 1];
    EXPECT_EQ(first.end, second.start);
    for (const Span* span : {&first, &second}) {
      if (span->awaits < 0) continue;
      EXPECT_LE(timeline.transfers[static_cast<std::size_t>(span->awaits)].end, first.start);
    }
    for (const Transfer& transfer : timeline.transfers) {
      if (transfer.op != first.op) continue;
      EXPECT_GE(transfer.ready, first.start + from_ms(2));
    }
  }
  EXPECT_GE(pairs, 3);
}

}  // namespace
}  // namespace penstock
