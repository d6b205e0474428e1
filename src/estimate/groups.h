// File: groups.h. Who exchanges with whom on one actor: the groups of its first device.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/collective.h"
#include "penstock/estimate.h"

namespace penstock {

struct Groups {
  Group tensor;
  Group context;
  Group expert;
  Group expert_tensor;
  Group replicas;         // of everything but the experts
  Group expert_replicas;  // of each expert
};

// By actor. Dimensions of experts are left alone where the model has none.
std::vector<Groups> groups_of_actors(const EstimateInput& input);

// The first device of an actor.
std::int32_t first_device(const EstimateInput& input, std::int32_t actor);

}  // namespace penstock
