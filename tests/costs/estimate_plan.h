// File: estimate_plan.h. A plan to estimate in one line, on a device that reaches its peaks:
// 1 TFLOP/s, 1 TB/s, links of 100 GB/s.
#pragma once

#include <string>

#include <gmock/gmock.h>

#include "costs_testing.h"
#include "model_files.h"
#include "penstock/estimate.h"
#include "penstock/generate.h"
#include "penstock/index.h"
#include "penstock/schedule.h"

namespace penstock {

inline Cluster flat_cluster(std::int32_t nodes = 4) {
  Cluster cluster = round_cluster(nodes);
  cluster.device.name = "flat";
  cluster.device.flop_per_s = {1e12, 1e12, 1e12, 1e12, 2e12};
  cluster.device.memory_bytes = std::int64_t{1} << 34;
  cluster.device.memory_bytes_per_s = 1e12;
  for (Curve& curve : cluster.device.efficiency) curve = {{{.size = 1, .fraction = 1}}};
  return cluster;
}

// Nothing but products and attention: memory and links are far faster than those.
inline Cluster compute_bound_cluster() {
  Cluster cluster = flat_cluster();
  cluster.device.memory_bytes_per_s = 1e21;
  return cluster;
}

struct Plan {
  Model model = testing::model_file("tiny-gpt");
  Cluster cluster = flat_cluster();
  Parallel parallel = {};
  std::int32_t sequences = 2;
  std::int32_t tokens = 64;
  FootprintChoice choice = {};
  Assumptions assumptions = {.launch = 0};
  std::string schedule = "1f1b";
  std::int32_t slices = 1;

  EstimateInput input() const {
    return {.model = &model,
            .cluster = &cluster,
            .parallel = parallel,
            .sequences = sequences,
            .tokens = tokens,
            .choice = choice,
            .assumptions = assumptions};
  }
  Schedule made() const {
    Schedule made = generate(schedule, {.actors = parallel.pipeline,
                                        .chunks = parallel.chunks,
                                        .microbatches = 8,
                                        .slices = slices,
                                        .sequence = tokens});
    return choice.recompute == RecomputeChoice::None ? made : with_recompute(std::move(made));
  }
  Estimate estimated() const {
    EXPECT_THAT(check_estimate(input()), ::testing::IsEmpty());
    return estimate(input(), made(), even_split(model, parallel.pipeline * parallel.chunks));
  }
  CostParts parts(OpKind kind, std::size_t stage = 0) const {
    return estimated().stages[stage][index(kind)];
  }
  // FLOP of all blocks in one pass, without or with attention alone.
  double work(Pass pass, bool of_attention, AttentionFlops pairs = AttentionFlops::Causal) const {
    double sum = 0;
    for (std::int32_t block = 0; block < model.blocks(); ++block) {
      for (const MatrixProduct& each :
           products(model, block, {sequences, 0, tokens}, parallel, pass, pairs)) {
        const bool is = each.use == ProductUse::Scores || each.use == ProductUse::Values;
        if (is == of_attention) sum += each.flops();
      }
    }
    return sum;
  }
};

}  // namespace penstock
