#include "penstock/pipeline.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "penstock/index.h"

namespace penstock {
namespace {

// neighbour[s] = the stage `step` places after s on its route, or -1.
std::vector<std::int32_t> neighbours(const Pipeline& pipeline, std::ptrdiff_t step) {
  std::vector<std::int32_t> neighbour(pipeline.stages.size(), -1);
  for (const Route& route : pipeline.routes) {
    const auto length = static_cast<std::ptrdiff_t>(route.size());
    for (std::ptrdiff_t i = 0; i < length; ++i) {
      const std::ptrdiff_t j = i + step;
      if (j >= 0 && j < length) neighbour[index(route[i])] = route[j];
    }
  }
  return neighbour;
}

// Stages 0, 1, .. along one route; actor_of(chunk, i) runs the i-th stage of a chunk.
template <typename ActorOf>
Pipeline one_route(std::int32_t actors, std::int32_t chunks, std::int32_t microbatches,
                   ActorOf actor_of) {
  assert(actors >= 1 && chunks >= 1 && microbatches >= 1 && "generators check their sizes first");
  Pipeline pipeline;
  pipeline.actors = actors;
  for (std::int32_t stage = 0; stage < actors * chunks; ++stage) {
    pipeline.stages.push_back({.actor = actor_of(stage / actors, stage % actors), .part = stage});
  }
  pipeline.routes.emplace_back(pipeline.stages.size());
  std::iota(pipeline.routes[0].begin(), pipeline.routes[0].end(), 0);
  pipeline.microbatches.resize(index(microbatches));
  return pipeline;
}

}  // namespace

Pipeline loop_pipeline(std::int32_t actors, std::int32_t chunks, std::int32_t microbatches) {
  return one_route(actors, chunks, microbatches,
                   [](std::int32_t /*chunk*/, std::int32_t i) { return i; });
}

Pipeline v_pipeline(std::int32_t actors, std::int32_t chunks, std::int32_t microbatches) {
  return one_route(actors, chunks, microbatches, [=](std::int32_t chunk, std::int32_t i) {
    return chunk % 2 == 0 ? i : actors - 1 - i;
  });
}

std::vector<std::int32_t> next_on_route(const Pipeline& pipeline) {
  return neighbours(pipeline, 1);
}

std::vector<std::int32_t> previous_on_route(const Pipeline& pipeline) {
  return neighbours(pipeline, -1);
}

std::vector<std::int32_t> route_of_stages(const Pipeline& pipeline) {
  std::vector<std::int32_t> route_of(pipeline.stages.size(), 0);
  for (std::size_t route = 0; route < pipeline.routes.size(); ++route) {
    for (const std::int32_t stage : pipeline.routes[route]) {
      route_of[index(stage)] = static_cast<std::int32_t>(route);
    }
  }
  return route_of;
}

bool is_sliced(const Pipeline& pipeline) {
  return std::any_of(pipeline.microbatches.begin(), pipeline.microbatches.end(),
                     [](const Microbatch& microbatch) { return microbatch.slices() > 1; });
}

}  // namespace penstock
