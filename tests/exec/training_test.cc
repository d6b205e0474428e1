// Real training: every schedule gives the bits of one actor that does the same work in order.
#include <gtest/gtest.h>

#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

void expect_bits_of_one_actor(const Model& model, const Schedule& schedule, const Split& split,
                              std::uint64_t seed) {
  constexpr std::int32_t kSteps = 10;
  const RunResult reference =
      run_in_process(training_plan(model, on_one_actor(schedule), split, kSteps), make_device);
  const RunResult result = run_in_process(training_plan(model, schedule, split, kSteps),
                                          make_device, {.seed = seed, .longest_delay = 100us});
  ASSERT_EQ(result.steps.size(), static_cast<std::size_t>(kSteps));
  expect_same_bits(result, reference);
  EXPECT_LT(result.steps.back().loss, result.steps.front().loss);
}

class Trained : public ::testing::TestWithParam<testing::NamedModel> {};

TEST_P(Trained, EveryScheduleGivesTheBitsOfOneActor) {
  Model model = testing::text_model(GetParam().model);
  model.layers = 8;  // a part each for four actors with two chunks
  std::uint64_t seed = 0;
  for (const ScheduleCase& c : schedule_cases({2, 4}, {1, 2, 3, 4, 8})) {
    const std::optional<Schedule> schedule = make(c);
    if (!schedule) continue;
    SCOPED_TRACE(to_text(c));
    const auto parts = static_cast<std::int32_t>(schedule->pipeline.stages.size());
    expect_bits_of_one_actor(model, *schedule, even_split(model, parts), ++seed);
  }
}

TEST_P(Trained, UnevenAndEmptyPartsToo) {
  const Model model = testing::text_model(GetParam().model);  // two layers
  const Schedule schedule = generate("1f1b", {.actors = 4, .microbatches = 4});
  for (const char* layout : {"E|t||tL", "Ett|||L", "E||tt|L"}) {
    SCOPED_TRACE(layout);
    expect_bits_of_one_actor(model, schedule, parse_layout(layout, model), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Trained,
                         ::testing::Values(testing::NamedModel{"gpt2_tied", testing::tiny_gpt2()},
                                           testing::NamedModel{"llama_untied",
                                                               testing::tiny_llama()}),
                         [](const auto& info) { return info.param.name; });

// What costs are estimated for is more than what is trained: the rest is refused, and says why.
TEST(Trained, ModelsOfOtherShapesAreRefused) {
  const Model plain = testing::text_model(testing::tiny_llama());
  const auto message = [&](auto change) {
    Model model = plain;
    change(model);
    const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 2});
    try {
      run_in_process(training_plan(model, schedule, even_split(model, 2), 1), make_device);
    } catch (const Error& error) {
      return error.problems().front().what;
    }
    return std::string();
  };
  EXPECT_EQ(message([](Model& m) { m.experts = {.experts = 4, .per_token = 2, .ffn = 20}; }),
            "training does not support a mixture of experts");
  EXPECT_EQ(message([](Model& m) { m.latent = {.kv_rank = 4}; }),
            "training does not support latent attention");
  EXPECT_EQ(message([](Model& m) { m.mtp_depth = 1; }),
            "training does not support multi-token prediction");
  EXPECT_EQ(message([](Model& m) { m.qkv_bias = true; }),
            "training does not support biases in the attention's projections");
  EXPECT_EQ(message([](Model& m) { m.qk_norm = true; }),
            "training does not support normed queries and keys");
  EXPECT_EQ(message([](Model& m) { m.rope_scaling = "yarn"; }),
            "training does not support stretched rotary positions");
  EXPECT_EQ(message([](Model& m) { m.family = Family::Mistral; }), "");
}

TEST(Trained, ProfileLeavesTrainingAsItWas) {
  const Model model = testing::text_model(testing::tiny_gpt2());
  const Schedule schedule = generate("1f1b", {.actors = 2, .microbatches = 4});
  const RunPlan plan = training_plan(model, schedule, even_split(model, 2), 5);
  const RunResult without = run_in_process(plan, make_device);
  const RunResult with = run_in_process(plan, make_device, {}, {.profile_steps = 2, .on_step = {}});
  EXPECT_EQ(with.parameters_sha256, without.parameters_sha256);
  EXPECT_EQ(with.steps[4].loss, without.steps[4].loss);
  EXPECT_NE(with.profile.machine.find("blas_core"), std::string::npos);
}

}  // namespace
}  // namespace penstock
