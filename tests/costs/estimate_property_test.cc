// What holds for estimates whatever the model and the cluster.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "estimate_plan.h"

namespace penstock {
namespace {

using testing::model_file;

// What holds on the shipped clusters, whatever their curves.
Plan any_plan() {
  const std::string cluster =
      *rc::gen::element<std::string>("a100-sxm-80-hdr", "h100-dgx", "b200-hgx", "v100-p3.16xlarge");
  const std::string model = *rc::gen::element<std::string>("gpt2-124m", "llama-3-8b-instruct");
  Plan plan = {.model = model_file(model), .cluster = shipped(cluster)};
  plan.choice.precision = Precision::Fp16;
  plan.parallel.pipeline = *rc::gen::element(1, 2, 4);
  plan.parallel.data = *rc::gen::element(1, 2);
  plan.sequences = *rc::gen::inRange(1, 5);
  plan.tokens = *rc::gen::element(128, 512, 1024);
  plan.assumptions.launch = 900;
  return plan;
}

RC_GTEST_PROP(EstimateProperty, MoreTensorParallelismIsNeverMoreProductTime, ()) {
  Plan plan = any_plan();
  const CostParts one = plan.parts(OpKind::Forward);
  plan.parallel.tensor = 2;
  plan.parallel.sequence = *rc::gen::arbitrary<bool>();
  RC_ASSERT(plan.model.heads % 2 == 0);
  const CostParts two = plan.parts(OpKind::Forward);
  RC_ASSERT(two[CostPart::Products] <= one[CostPart::Products] * (1 + 1e-12));
  RC_ASSERT(two[CostPart::Attention] <= one[CostPart::Attention] * (1 + 1e-12));
}

RC_GTEST_PROP(EstimateProperty, BiggerMicrobatchesNeverTakeLess, ()) {
  Plan plan = any_plan();
  plan.parallel.tensor = *rc::gen::element(1, 2);
  const Estimate small = plan.estimated();
  plan.sequences *= 2;
  const Estimate large = plan.estimated();
  for (std::size_t stage = 0; stage < small.stages.size(); ++stage) {
    for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
      RC_ASSERT(small.stages[stage][kind].total() <= large.stages[stage][kind].total());
    }
    RC_ASSERT(small.costs.stages[stage].activation_bytes <=
              large.costs.stages[stage].activation_bytes);
  }
}

RC_GTEST_PROP(EstimateProperty, AFasterClusterIsNeverSlower, ()) {
  Plan plan = any_plan();
  plan.parallel.tensor = *rc::gen::element(1, 2);
  const Estimate slow = plan.estimated();
  const double factor = *rc::gen::element(1.0, 1.5, 3.0);
  for (double& peak : plan.cluster.device.flop_per_s) peak *= factor;
  plan.cluster.device.memory_bytes_per_s *= *rc::gen::element(1.0, 2.0);
  plan.cluster.node.device_link.bytes_per_s *= *rc::gen::element(1.0, 2.0);
  plan.cluster.nic.bytes_per_s *= *rc::gen::element(1.0, 2.0);
  const Estimate fast = plan.estimated();
  for (std::size_t stage = 0; stage < slow.stages.size(); ++stage) {
    for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
      RC_ASSERT(fast.stages[stage][kind].total() <= slow.stages[stage][kind].total() * (1 + 1e-12));
    }
    RC_ASSERT(fast.costs.stages[stage].update <= slow.costs.stages[stage].update);
    RC_ASSERT(fast.costs.stages[stage].reduce <= slow.costs.stages[stage].reduce);
  }
}

}  // namespace
}  // namespace penstock
