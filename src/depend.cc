#include "penstock/depend.h"

#include <cassert>

namespace penstock {
namespace {

std::vector<std::int64_t> slices_by_route(const Pipeline& pipeline) {
  std::vector<std::int64_t> slices(pipeline.routes.size(), 0);
  for (const Microbatch& microbatch : pipeline.microbatches) {
    slices[static_cast<std::size_t>(microbatch.route)] += microbatch.slices();
  }
  return slices;
}

}  // namespace

Dependencies::Dependencies(const Pipeline& pipeline)
    : next_(next_on_route(pipeline)),
      previous_(previous_on_route(pipeline)),
      stage_base_(pipeline.stages.size(), 0) {
  assert(count_units(pipeline) <= kMostUnits && "check refuses what cannot be numbered");
  std::vector<std::int32_t> used(pipeline.routes.size(), 0);
  microbatch_base_.reserve(pipeline.microbatches.size());
  slices_.reserve(pipeline.microbatches.size());
  for (const Microbatch& microbatch : pipeline.microbatches) {
    std::int32_t& base = used[index(microbatch.route)];
    microbatch_base_.push_back(base);
    slices_.push_back(microbatch.slices());
    base += microbatch.slices();
  }
  for (std::size_t route = 0; route < pipeline.routes.size(); ++route) {
    for (const std::int32_t stage : pipeline.routes[route]) {
      stage_base_[index(stage)] = units_;
      units_ += used[route];
    }
  }
}

std::int64_t count_units(const Pipeline& pipeline) {
  const std::vector<std::int64_t> slices = slices_by_route(pipeline);
  std::int64_t units = 0;
  for (std::size_t route = 0; route < slices.size(); ++route) {
    units += static_cast<std::int64_t>(pipeline.routes[route].size()) * slices[route];
  }
  return units;
}

}  // namespace penstock
