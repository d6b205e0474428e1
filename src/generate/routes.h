// File: routes.h. Pipelines in which microbatches go several ways over copies of the same parts.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/generate.h"
#include "penstock/pipeline.h"

namespace penstock {

// Appends a route over parts 0 .. parts - 1, each a new stage on the actor that place(part) names.
// The new stages follow the old ones, in forward order. Returns the first of them.
template <typename Place>
std::int32_t add_route(Pipeline& pipeline, std::int32_t parts, Place place) {
  const auto first = static_cast<std::int32_t>(pipeline.stages.size());
  Route& route = pipeline.routes.emplace_back();
  for (std::int32_t part = 0; part < parts; ++part) {
    pipeline.stages.push_back({.actor = place(part), .part = part});
    route.push_back(first + part);
  }
  return first;
}

}  // namespace penstock
