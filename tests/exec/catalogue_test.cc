// Every schedule of the catalogue, trained: equal to the reference, and doing what was predicted.
#include <map>

#include <gtest/gtest.h>

#include "../generate_near.h"
#include "actor_plan.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "training_runs.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

constexpr std::int32_t kTokens = 16;  // per sequence
constexpr std::int32_t kSequences = 2;
constexpr std::int32_t kSteps = 3;

struct Sizes {
  std::int32_t actors;
  std::int32_t chunks;
  std::int32_t microbatches;
  std::int32_t slices;
};

std::string to_text(const Sizes& s) {
  return fmt::format("p={} v={} m={} k={}", s.actors, s.chunks, s.microbatches, s.slices);
}

// The first sizes that the generator's own rule takes, at most three; the largest first, so that
// slices and chunks are among them.
std::vector<std::pair<Sizes, Schedule>> legal(const Generator& generator, std::int32_t actors) {
  std::vector<std::pair<Sizes, Schedule>> found;
  for (const std::int32_t slices : {2, 1}) {
    for (const std::int32_t chunks : {2, 1}) {
      for (const std::int32_t microbatches : {2 * actors, 2 * actors + 2, 3}) {
        const Sizes sizes{actors, chunks, microbatches, slices};
        auto schedule = generate_if_legal(
            generator.name,
            {.actors = actors, .chunks = chunks, .microbatches = microbatches, .slices = slices});
        if (!schedule) continue;
        found.emplace_back(sizes, std::move(*schedule));
        if (found.size() == 3) return found;
      }
    }
  }
  return found;
}

// Sums in the order of whole microbatches on one copy of the weights: then all bits are the same.
bool keeps_sums(const Pipeline& pipeline) {
  return pipeline.routes.size() == 1 && pipeline.microbatches[0].slices() == 1;
}

void expect_reference(const Model& model, const Schedule& schedule, const Split& split,
                      const RunResult& result, const Watch& watch) {
  const RunResult one_actor = run_in_process(
      training_plan(model, on_one_actor(schedule), split, kSteps, kUsualRate), make_device);
  expect_same_bits(result, one_actor);
  EXPECT_EQ(watch.different(), 0);
  if (updates_inside(schedule)) return;  // other weights: asynchronous_test.cc
  if (schedule.pipeline.learning.kind == LearningKind::Local) return;  // local_learning_test.cc
  Watch plain_watch;
  const RunResult plain =
      run_in_process(training_plan(model, plain_schedule(schedule), split, kSteps, kUsualRate),
                     watched(make_device, plain_watch));
  if (keeps_sums(schedule.pipeline)) {
    EXPECT_EQ(result.steps[0].loss, plain.steps[0].loss);
  }
  const bool learnt = !std::isnan(result.steps[0].gradient_norm);  // inference has its losses alone
  if (learnt) expect_near(result, watch, plain, plain_watch);
}

void expect_prediction(const RunPlan& plan, const RunResult& result, const Watch& watch) {
  const Pipeline& pipeline = plan.program.schedule.pipeline;
  const auto slices = pipeline.microbatches[0].slices();
  const std::int64_t bytes = std::int64_t{kSequences} * kTokens / slices * plan.model->hidden * 4;
  const CostTable costs = parse_costs(fmt::format("F=2,B=4,I=2,W=2,bytes={}", bytes),
                                      static_cast<std::int32_t>(pipeline.stages.size()));
  const Timeline predicted = simulate(plan.program, costs);
  const Metrics metrics = measure(predicted);
  const Metrics measured = measure(result.measured);
  for (std::int32_t actor = 0; actor < pipeline.actors; ++actor) {
    SCOPED_TRACE(fmt::format("actor {}", actor));
    const auto a = static_cast<std::size_t>(actor);
    EXPECT_NEAR(watch.peak_in_flight(actor), metrics.actors[a].peak_in_flight, 1e-9);
    EXPECT_NEAR(measured.actors[a].peak_in_flight, metrics.actors[a].peak_in_flight, 1e-9);
    EXPECT_EQ(measured.actors[a].weight_versions, metrics.actors[a].weight_versions);
    Traffic traffic;
    for (const Transfer& transfer : predicted.transfers) {
      if (transfer.from != actor) continue;
      ++traffic.messages_sent;
      traffic.bytes_sent += transfer.bytes;
    }
    EXPECT_EQ(result.traffic[a].messages_sent, kSteps * traffic.messages_sent);
    EXPECT_EQ(result.traffic[a].bytes_sent, kSteps * traffic.bytes_sent);
  }
}

class Catalogue : public ::testing::TestWithParam<Generator> {};

TEST_P(Catalogue, TrainsLikeTheReference) {
  int runs = 0;
  int refused = 0;
  for (const std::int32_t actors : {2, 4}) {
    for (const auto& [sizes, schedule] : legal(GetParam(), actors)) {
      SCOPED_TRACE(to_text(sizes));
      const auto parts = static_cast<std::int32_t>(schedule.pipeline.routes[0].size());
      // Stages that update at times of their own cannot share the tied embedding.
      Model model = testing::text_model(updates_inside(schedule) ? testing::tiny_llama()
                                                                 : testing::tiny_gpt2());
      model.layers = std::max(parts, 4);
      model.tied_embeddings = !updates_inside(schedule);
      const Split split = even_split(model, parts);
      const RunPlan plan = training_plan(model, schedule, split, kSteps, kUsualRate);
      if (!executable_problems(plan.program).empty()) {
        ++refused;
        continue;
      }
      Watch watch;
      const auto seed = static_cast<std::uint64_t>(++runs);
      const RunResult result =
          run_in_process(plan, watched(make_device, watch), {.seed = seed, .longest_delay = 100us});
      expect_reference(model, schedule, split, result, watch);
      expect_prediction(plan, result, watch);
    }
  }
  EXPECT_GE(runs + refused, 2) << "no sizes are legal";
  EXPECT_TRUE(runs == 0 || refused == 0);
}

INSTANTIATE_TEST_SUITE_P(Schedules, Catalogue,
                         ::testing::ValuesIn(generators().begin(), generators().end()),
                         [](const auto& info) { return "_" + std::string(info.param.name); });

}  // namespace
}  // namespace penstock
