// Closed forms by hand on a model of small numbers and a device that reaches its peaks: 1 TFLOP/s,
// 1 TB/s, links of 100 GB/s. Letters as in docs/model_costs.md.
#include "penstock/estimate.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate_plan.h"

namespace penstock {
namespace {

using testing::model_file;

TEST(Estimate, OfProductsIsTheirWorkOverThePeak) {
  const Plan plan = {.cluster = compute_bound_cluster()};
  // 2 x 128 tokens x (12 L h^2 + h V) parameters at 1 TFLOP/s.
  const auto h = static_cast<double>(plan.model.hidden);
  const double weights =
      12.0 * plan.model.layers * h * h + h * static_cast<double>(plan.model.vocabulary);
  const double expected = 1e9 * 2 * 128 * weights / 1e12;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Products], expected, 1e-3);
  EXPECT_NEAR(plan.parts(OpKind::BackwardInput)[CostPart::Products], expected, 1e-3);
  EXPECT_NEAR(plan.parts(OpKind::BackwardWeight)[CostPart::Products], expected, 1e-3);
  EXPECT_NEAR(plan.parts(OpKind::Backward)[CostPart::Products], 2 * expected, 1e-3);
}

// Forward 2 products of s^2 h per layer and sequence, the flash backward 5.
TEST(Estimate, OfAttentionHasTheScoresAgainInAFusedBackward) {
  Plan plan = {.cluster = compute_bound_cluster()};
  const double product =
      1e9 * 2.0 * plan.model.layers * plan.sequences * 64 * 64 * plan.model.hidden / 1e12;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Attention], 2 * product / 2, 1e-3);
  EXPECT_NEAR(plan.parts(OpKind::BackwardInput)[CostPart::Attention], 5 * product / 2, 1e-3);
  EXPECT_EQ(plan.parts(OpKind::BackwardWeight)[CostPart::Attention], 0);
  plan.choice.attention = AttentionKernel::Unfused;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Attention], 2 * product, 1e-3);
  EXPECT_NEAR(plan.parts(OpKind::BackwardInput)[CostPart::Attention], 4 * product, 1e-3);
}

// A layer keeps 2 norm inputs, 2 norm outputs, q, k, v and attention's output, 2 x 4h of the MLP:
// 16 values of h per token, and sums cross 3 values twice; then the last norm, the head's input and
// the logits in fp32, and the looked-up rows, read and written.
TEST(Estimate, OfMemoryBoundWorkIsWhatCrossesTheMemory) {
  const Plan plan = {};
  const double h = plan.model.hidden;
  const double tokens = 128;
  const double layers = plan.model.layers * tokens * (16 + 6) * h * 2;
  const double head = tokens * (2 * 2 * h + 4.0 * plan.model.vocabulary);
  const double rows = 2 * tokens * 2 * h;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Memory], (layers + head + rows) / 1e3, 1e-3);
  EXPECT_NEAR(plan.parts(OpKind::BackwardInput)[CostPart::Memory], 2 * (layers + head) / 1e3, 1e-3);
  EXPECT_NEAR(plan.parts(OpKind::BackwardWeight)[CostPart::Memory], tokens * h * (2 + 8) / 1e3,
              1e-3);
}

// Where the peak is out of reach, a product takes what its three matrices take to cross.
TEST(Estimate, OfASmallProductIsBoundByMemory) {
  Plan plan = {};
  plan.cluster.device.flop_per_s.fill(1e18);
  double bytes = 0;
  for (std::int32_t block = 0; block < plan.model.blocks(); ++block) {
    for (const MatrixProduct& p :
         products(plan.model, block, {2, 0, 64}, plan.parallel, Pass::Forward)) {
      if (p.use == ProductUse::Scores || p.use == ProductUse::Values) continue;
      bytes += 2.0 * static_cast<double>(p.m * p.k + p.k * p.n + p.m * p.n);
    }
  }
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Products], bytes / 1e3, 1e-2);
}

// Per layer two all_reduces of S over 4 devices, 2 x 3/4 S / 100 GB/s and 6 steps of 1 us; the
// embedding one more, the head three of 4 bytes a token.
TEST(Estimate, OfTensorParallelismIsTwoAllReducesALayer) {
  Plan plan = {.parallel = {.tensor = 4}};
  const double s = 128.0 * plan.model.hidden * 2;
  const double one = 6'000 + 1e9 * 1.5 * s / 100e9;
  const double numbers = 6'000 + 1e9 * 1.5 * 128 * 4 / 100e9;
  const int layers = plan.model.layers;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Tensor], (2 * layers + 1) * one + 3 * numbers,
              1 + 2 * layers);
  EXPECT_NEAR(plan.parts(OpKind::BackwardInput)[CostPart::Tensor], (2 * layers + 1) * one,
              1 + 2 * layers);
  EXPECT_EQ(plan.parts(OpKind::BackwardWeight)[CostPart::Tensor], 0);
  // With sequence parallelism the same bytes in two halves, and inputs gathered again for W.
  plan.parallel.sequence = true;
  EXPECT_NEAR(plan.parts(OpKind::BackwardInput)[CostPart::Tensor], 2 * layers * one + one / 2,
              1 + 2 * layers);
  EXPECT_NEAR(plan.parts(OpKind::BackwardWeight)[CostPart::Tensor], (2 * layers + 2) * one / 2,
              1 + 2 * layers);
}

TEST(Estimate, OfContextParallelismPassesKeysAndValuesOn) {
  const Plan plan = {.parallel = {.context = 4}};
  // Keys and values of all tokens: 3/4 of them arrive from others.
  const double gather = 3'000 + 1e9 * 0.75 * (128.0 * 2 * plan.model.hidden * 2) / 100e9;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Context], plan.model.layers * gather,
              plan.model.layers);
  EXPECT_NEAR(plan.parts(OpKind::BackwardInput)[CostPart::Context], 2 * plan.model.layers * gather,
              2 * plan.model.layers);
}

TEST(Estimate, OfExpertsSendsEachTokensCopiesThereAndBack) {
  Plan plan = {.model = model_file("mixtral-8x7b-v0.1"), .parallel = {.data = 4, .expert = 4}};
  // 128 tokens x 2 copies, 3/4 of them to others.
  const double s = 128.0 * 2 * plan.model.hidden * 2;
  const double there = 3'000 + 1e9 * 0.75 * s / 100e9;
  const double expected = plan.model.layers * 2 * there;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Expert], expected, 64);
  const double products = plan.parts(OpKind::Forward)[CostPart::Products];
  plan.assumptions.expert_imbalance = 1.5;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Expert], 1.5 * expected, 96);
  EXPECT_GT(plan.parts(OpKind::Forward)[CostPart::Products], products);
}

TEST(Estimate, HidesCommunicationAtThePriceOfSlowerCompute) {
  Plan plan = {.parallel = {.tensor = 4}};
  const CostParts exposed = plan.parts(OpKind::Forward);
  plan.cluster.device.memory_bytes_per_s = 1e9;  // so that there is room
  plan.assumptions.tensor_overlap = 0.5;
  plan.assumptions.slow_down = 1.2;
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Tensor],
              exposed[CostPart::Tensor] * (0.5 + 0.5 * 0.2), 1e-3);
}

TEST(Estimate, LaunchesAKernelForEachProductAndTensor) {
  const Plan plan = {.assumptions = {.launch = 1000}};
  // A layer: 4 products, attention, 2 norms, q and k, v, the activation, 2 sums; head: a product,
  // the norm, the logits; the embedding's lookup.
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Launches],
              1000.0 * (plan.model.layers * 12 + 3 + 1), 1e-6);
}

TEST(Estimate, MakesTheForwardAgainOrAttentionAlone) {
  Plan plan = {.parallel = {.tensor = 2}};
  plan.choice.recompute = RecomputeChoice::Full;
  const Estimate full = plan.estimated();
  const CostParts again = full.stages[0][index(OpKind::Recompute)];
  const CostParts forward = full.stages[0][index(OpKind::Forward)];
  EXPECT_NEAR(again[CostPart::Attention], forward[CostPart::Attention], 1e-6);
  EXPECT_LT(again[CostPart::Products], forward[CostPart::Products]);  // the head is not run again
  EXPECT_GT(again[CostPart::Tensor], 0);
  plan.choice.recompute = RecomputeChoice::Selective;
  const CostParts selective = plan.parts(OpKind::Recompute);
  EXPECT_NEAR(selective.total(), forward[CostPart::Attention], 1e-6);
  plan.choice.recompute = RecomputeChoice::None;
  EXPECT_FALSE(plan.estimated().costs.stages[0].op[index(OpKind::Recompute)].has_value());
}

// GPT-2-like: what a part's blocks say, and for full recomputation the inputs and one layer.
TEST(Estimate, HoldsTheBytesOfItsBlocks) {
  Plan plan = {.parallel = {.pipeline = 4}};
  const Split split = even_split(plan.model, 4);
  const TokenRange range = {2, 0, 64};
  const StageCosts costs = plan.estimated().costs.stages[1];
  const Footprint own =
      part_footprint(plan.model, split.first[1], split.first[2], range, plan.parallel, plan.choice);
  EXPECT_EQ(costs.activation_bytes, own.activations);
  EXPECT_EQ(costs.weight_bytes, own.state());
  EXPECT_EQ(costs.left_bytes, std::min(own.weight_pass, own.activations));
  EXPECT_EQ(costs.message.bytes, 128 * plan.model.hidden * 2);
  plan.choice.recompute = RecomputeChoice::Full;
  const StageCosts again = plan.estimated().costs.stages[1];
  const int layers = split.first[2] - split.first[1];
  EXPECT_EQ(again.kept_bytes, layers * costs.message.bytes);
  EXPECT_EQ(again.activation_bytes,
            *again.kept_bytes + own.activations / layers - costs.message.bytes);
}

TEST(Estimate, AddsUpGradientsByTheStageOfZero) {
  Plan plan = {.parallel = {.data = 4}};
  const auto values = static_cast<double>(parameters(plan.model));
  const auto over = [](double bytes) { return 3'000 + 1e9 * 0.75 * bytes / 100e9; };
  EXPECT_NEAR(plan.estimated().costs.stages[0].reduce, 2 * over(4 * values), 4);
  plan.parallel.zero = 1;
  EXPECT_NEAR(plan.estimated().costs.stages[0].reduce, over(4 * values) + over(2 * values), 4);
  EXPECT_EQ(plan.parts(OpKind::Forward)[CostPart::Data], 0);
  plan.parallel.zero = 3;
  EXPECT_NEAR(plan.estimated().costs.stages[0].reduce, over(4 * values), 4);
  EXPECT_GT(plan.parts(OpKind::Forward)[CostPart::Data], 0);
  plan.assumptions.data_overlap = 1;
  EXPECT_EQ(plan.estimated().costs.stages[0].reduce, 0);
}

// Gradients read for norm and step, 12 bytes of state read and written, 2 of weights written.
TEST(Estimate, UpdatesAtTheSpeedOfMemory) {
  Plan plan = {};
  const auto values = static_cast<double>(parameters(plan.model));
  EXPECT_NEAR(plan.estimated().costs.stages[0].update, values * (2 * 4 + 2 * 12 + 2) / 1e3, 1);
  plan.parallel = {.data = 4, .zero = 1};
  EXPECT_NEAR(plan.estimated().costs.stages[0].update, values / 4 * 34 / 1e3, 40);
}

// The op's time is the sum of its parts, and B that of its halves.
TEST(Estimate, SaysWhereAllOfTheTimeGoes) {
  Plan plan = {.parallel = {.pipeline = 2, .tensor = 2, .sequence = true, .context = 2}};
  plan.choice.recompute = RecomputeChoice::Full;
  const Estimate estimated = plan.estimated();
  for (std::size_t stage = 0; stage < 2; ++stage) {
    for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
      EXPECT_NEAR(static_cast<double>(estimated.costs.stages[stage].op[kind]->base),
                  estimated.stages[stage][kind].total(), 1);
    }
  }
}

TEST(Estimate, OfSlicesGrowsWithTheTokensInFront) {
  Plan plan = {.parallel = {.pipeline = 2}, .schedule = "seq1f1b", .slices = 4};
  const Estimate estimated = plan.estimated();
  EXPECT_THAT(missing_costs(estimated.costs, plan.made()), ::testing::IsEmpty());
  const Duration& forward = *estimated.costs.stages[0].op[index(OpKind::Forward)];
  for (std::int32_t slice = 1; slice < 4; ++slice) {
    EXPECT_GT(forward.at(0, slice), forward.at(0, slice - 1));
  }
  // Attention adds up to that of the whole sequence.
  const Plan whole = {.parallel = {.pipeline = 2}};
  EXPECT_NEAR(plan.parts(OpKind::Forward)[CostPart::Attention],
              whole.parts(OpKind::Forward)[CostPart::Attention], 1e-6);
}

TEST(Messages, GoThroughTheNicsOfTheirOwnDevices) {
  Plan plan = {.parallel = {.pipeline = 4, .tensor = 4}};
  // Over 10 GB/s for each device; there and back at once on both.
  const Estimate apart = plan.estimated();
  EXPECT_EQ(apart.costs.stages[0].message.bytes_per_s, 10e9);
  EXPECT_EQ(apart.costs.stages[0].message.latency, 2 * 2'000);
  // An actor in the middle sends to both sides through one NIC.
  EXPECT_THAT(apart.costs.links, ::testing::SizeIs(4));
  // One NIC for the node: each of the four devices has a quarter.
  plan.cluster = round_cluster(4, 4, 1);
  plan.cluster.device = flat_cluster().device;
  EXPECT_EQ(plan.estimated().costs.stages[0].message.bytes_per_s, 10e9 / 4);
  // Two actors on each node: half of it while both send, all of it for one.
  plan.parallel = {.pipeline = 8, .tensor = 2};
  const Estimate shared = plan.estimated();
  EXPECT_EQ(shared.costs.stages[0].message.bytes_per_s, 100e9);  // in the node
  EXPECT_EQ(shared.costs.stages[1].message.bytes_per_s, 5e9);
}

TEST(Messages, BetweenStagesOfOneActorAreHandedOver) {
  Plan plan = {.parallel = {.pipeline = 2, .chunks = 2}, .schedule = "zb_v"};
  const Estimate estimated = plan.estimated();
  EXPECT_EQ(estimated.costs.stages[1].message.latency, 0);  // the turn of the V
  EXPECT_GT(estimated.costs.stages[0].message.latency, 0);
}

TEST(CheckEstimate, NamesWhatTheClusterLacks) {
  Plan plan = {.parallel = {.pipeline = 16, .tensor = 8}};
  EXPECT_THAT(check_estimate(plan.input()),
              ::testing::ElementsAre(
                  ::testing::Field(&Problem::what, ::testing::HasSubstr("but round has 16"))));
  plan.parallel = {};
  plan.choice.precision = Precision::Fp8;
  plan.cluster.device.flop_per_s[4] = 0;
  EXPECT_THAT(check_estimate(plan.input()), ::testing::ElementsAre(::testing::Field(
                                                &Problem::what, "flat does not calculate in fp8")));
  plan.choice.precision = Precision::Bf16;
  plan.parallel = {.tensor = 3};
  EXPECT_THAT(check_estimate(plan.input()), ::testing::Not(::testing::IsEmpty()));
}

TEST(PrecisionNames, AreReadBack) {
  for (const Precision precision :
       {Precision::Fp32, Precision::Fp16, Precision::Bf16, Precision::Fp8}) {
    EXPECT_EQ(parse_precision(name(precision)), precision);
  }
  EXPECT_EQ(parse_precision("int8"), std::nullopt);
}

}  // namespace
}  // namespace penstock
