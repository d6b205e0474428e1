#include "estimate/step_end_cost.h"

#include <algorithm>
#include <cmath>

#include "estimate/compute_time.h"
#include "models/matrices.h"

namespace penstock {
namespace {

Nanoseconds over(const EstimateInput& input, const Group& group, Collective collective,
                 std::int64_t bytes) {
  if (group.devices.size() == 1 || bytes == 0) return 0;
  return collective_cost(*input.cluster, group, collective, bytes).time;
}

// Of `values` that the group's devices all have.
Nanoseconds replicas_cost(const EstimateInput& input, const Group& group, std::int64_t values) {
  const StateBytes& state = input.choice.state;
  const std::int32_t zero = input.parallel.zero;
  if (zero == 0) return over(input, group, Collective::AllReduce, values * state.gradients);
  const Nanoseconds gradients =
      over(input, group, Collective::ReduceScatter, values * state.gradients);
  if (zero >= 3) return gradients;
  return gradients + over(input, group, Collective::AllGather, values * state.weights);
}

std::int64_t embedding_bytes(const EstimateInput& input) {
  return divided(input.model->vocabulary, input.parallel.tensor) * input.model->hidden *
         input.choice.state.gradients;
}

}  // namespace

Nanoseconds reduce_cost(const EstimateInput& input, const Groups& groups, std::int32_t first,
                        std::int32_t end) {
  TrainedValues values;
  for (std::int32_t block = first; block < end; ++block) {
    const TrainedValues own = trained_values(*input.model, block, input.parallel);
    values.dense += own.dense;
    values.experts += own.experts;
  }
  const double time =
      static_cast<double>(replicas_cost(input, groups.replicas, values.dense)) +
      static_cast<double>(replicas_cost(input, groups.expert_replicas, values.experts));
  return std::llround(time * (1 - input.assumptions.data_overlap));
}

Nanoseconds update_cost(const EstimateInput& input, const Footprint& footprint) {
  const StateBytes& state = input.choice.state;
  const double values = static_cast<double>(footprint.optimizer) / state.optimizer;
  const double bytes = values * (2.0 * state.gradients + 2.0 * state.optimizer + state.weights);
  return std::llround(ComputeTime(input).memory(bytes));
}

Nanoseconds tied_cost(const EstimateInput& input, std::int32_t actor, std::int32_t other) {
  const Group group = {.devices = {first_device(input, actor), first_device(input, other)}};
  return over(input, group, Collective::AllReduce, embedding_bytes(input));
}

Nanoseconds norm_cost(const EstimateInput& input) {
  const Placement placement = placement_of(input.parallel, input.order);
  const Group group = {.devices = group_of(placement, {Dimension::Tensor, Dimension::Pipeline}, 0)};
  return over(input, group, Collective::AllReduce, 4);
}

}  // namespace penstock
