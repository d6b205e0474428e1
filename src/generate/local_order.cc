#include "local_order.h"

#include "order.h"

namespace penstock {

std::vector<LocalStage> local_stages(const Learning& learning, std::int32_t length) {
  std::vector<LocalStage> stages(static_cast<std::size_t>(length));
  const auto together = [&](std::int32_t first, std::int32_t last) {
    return first >= 0 && learn_together(learning, length, first, last);
  };
  for (std::int32_t i = length - 2; i >= 0; --i) {
    if (!together(i, i + 1)) continue;
    const std::int32_t hops = 1 + stages[static_cast<std::size_t>(i + 1)].warmup;
    // What the stage sends back waits for what it gets, unless the two are of different windows.
    const bool passes_on = together(i - 1, i + 1) || !together(i - 1, i);
    LocalStage& stage = stages[static_cast<std::size_t>(i)];
    (passes_on ? stage.warmup : stage.weight_lag) = hops;
  }
  return stages;
}

namespace {

std::vector<Step> without_updates(const LocalStage& how, std::int32_t stage,
                                  std::int32_t microbatches) {
  const auto op = [=](OpKind kind) {
    return [=](std::int32_t i) { return Op{kind, stage, i, 0}; };
  };
  if (how.weight_lag == 0) {
    return warm_up_and_alternate(microbatches, how.warmup, op(OpKind::Forward),
                                 op(OpKind::Backward));
  }
  std::vector<Step> order;
  for (std::int32_t i = 0; i < microbatches + how.weight_lag; ++i) {
    if (i < microbatches) order.push_back({op(OpKind::Forward)(i)});
    if (i < microbatches) order.push_back({op(OpKind::BackwardInput)(i)});
    if (i >= how.weight_lag) order.push_back({op(OpKind::BackwardWeight)(i - how.weight_lag)});
  }
  return order;
}

}  // namespace

std::vector<Step> local_order(const LocalStage& how, std::int32_t stage, std::int32_t microbatches,
                              std::int32_t update_every) {
  std::vector<Step> plain = without_updates(how, stage, microbatches);
  if (update_every == 0) return plain;
  std::vector<Step> order;
  for (const Step& step : plain) {
    order.push_back(step);
    const std::int32_t done = step.op.microbatch + 1;
    if (!gives_weight_gradient(step.op.kind)) continue;
    if (done % update_every != 0 && done != microbatches) continue;
    order.push_back({{OpKind::Update, stage, step.op.microbatch, 0}});
  }
  return order;
}

}  // namespace penstock
