#include "estimate/groups.h"

namespace penstock {

Placement placement_of(const Parallel& parallel, const std::string& order) {
  return {.tensor = parallel.tensor,
          .context = parallel.context,
          .expert = parallel.expert,
          .expert_tensor = parallel.expert_tensor,
          .data = parallel.data,
          .pipeline = parallel.pipeline,
          .order = order};
}

std::int32_t first_device(const EstimateInput& input, std::int32_t actor) {
  return stage_device(placement_of(input.parallel, input.order), 0, actor);
}

std::vector<Groups> groups_of_actors(const EstimateInput& input) {
  const Placement placement = placement_of(input.parallel, input.order);
  const bool has_experts = input.model->experts.has_value();
  std::vector<Groups> groups;
  for (std::int32_t actor = 0; actor < input.parallel.pipeline; ++actor) {
    const std::int32_t device = stage_device(placement, 0, actor);
    const auto along = [&](std::initializer_list<Dimension> dimensions) {
      return Group{.devices = group_of(placement, dimensions, device)};
    };
    const auto of_experts = [&](Dimension dimension) {
      return has_experts ? along({dimension}) : Group{.devices = {device}};
    };
    groups.push_back({.tensor = along({Dimension::Tensor}),
                      .context = along({Dimension::Context}),
                      .expert = of_experts(Dimension::Expert),
                      .expert_tensor = of_experts(Dimension::ExpertTensor),
                      .replicas = along({Dimension::Data, Dimension::Context}),
                      .expert_replicas = of_experts(Dimension::ExpertData)});
  }
  return groups;
}

}  // namespace penstock
