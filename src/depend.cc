#include "penstock/depend.h"

#include <cassert>

#include "penstock/index.h"

namespace penstock {
namespace {

std::vector<std::int64_t> slices_by_route(const Pipeline& pipeline) {
  std::vector<std::int64_t> slices(pipeline.routes.size(), 0);
  for (const Microbatch& microbatch : pipeline.microbatches) {
    slices[index(microbatch.route)] += microbatch.slices();
  }
  return slices;
}

}  // namespace

Dependencies::Dependencies(const Pipeline& pipeline)
    : giver_(pipeline.stages.size()),
      receiver_(pipeline.stages.size()),
      stage_base_(pipeline.stages.size(), 0),
      capacity_(pipeline.learning.queue_capacity) {
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
    link(pipeline.learning, pipeline.routes[route]);
    for (const std::int32_t stage : pipeline.routes[route]) {
      stage_base_[index(stage)] = units_;
      units_ += used[route];
    }
  }
  if (has_queues()) list_items(pipeline);
}

// Who gives to whom along a route.
void Dependencies::link(const Learning& learning, const Route& route) {
  const auto length = static_cast<std::int32_t>(route.size());
  const auto together = [&](std::int32_t first, std::int32_t last) {
    return first >= 0 && last < length && learn_together(learning, length, first, last);
  };
  for (std::int32_t i = 0; i < length; ++i) {
    const std::int32_t before = i > 0 ? route[index(i - 1)] : -1;
    const std::int32_t behind = i + 1 < length ? route[index(i + 1)] : -1;
    ByKind& giver = giver_[index(route[index(i)])];
    ByKind& receiver = receiver_[index(route[index(i)])];
    giver.fill(-1);
    receiver.fill(-1);
    giver[index(OpKind::Forward)] = before;
    receiver[index(OpKind::Forward)] = behind;
    if (together(i - 1, i)) {
      receiver[index(OpKind::Backward)] = before;
      receiver[index(OpKind::BackwardInput)] = before;
    }
    if (!together(i, i + 1)) continue;
    const bool passes_on = together(i - 1, i + 1) || !together(i - 1, i);
    giver[index(OpKind::Backward)] = behind;
    giver[index(passes_on ? OpKind::BackwardInput : OpKind::BackwardWeight)] = behind;
  }
}

void Dependencies::list_items(const Pipeline& pipeline) {
  items_.resize(pipeline.routes.size());
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    const Microbatch& microbatch = pipeline.microbatches[m];
    route_of_.push_back(microbatch.route);
    for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
      items_[index(microbatch.route)].push_back({static_cast<std::int32_t>(m), slice});
    }
  }
}

std::optional<Op> Dependencies::room_for(const Op& op) const {
  if (capacity_ == 0 || op.kind != OpKind::Forward) return std::nullopt;
  const std::int32_t item = microbatch_base_[index(op.microbatch)] + op.slice - capacity_;
  const std::int32_t next = receiver(op);
  if (item < 0 || next < 0) return std::nullopt;
  const Item& leaving = items_[index(route_of_[index(op.microbatch)])][index(item)];
  return Op{OpKind::Forward, next, leaving.microbatch, leaving.slice};
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
