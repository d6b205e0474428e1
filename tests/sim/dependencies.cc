#include "dependencies.h"

#include <algorithm>

namespace penstock {
namespace {

const Route& route_of(const Pipeline& pipeline, std::int32_t microbatch) {
  const auto m = static_cast<std::size_t>(microbatch);
  return pipeline.routes[static_cast<std::size_t>(pipeline.microbatches[m].route)];
}

// The windows of a route of `length` stages, first and last stage of each; one over all stages
// where nothing is said of windows.
std::vector<std::pair<std::int32_t, std::int32_t>> windows(const Learning& learning,
                                                           std::int32_t length) {
  if (learning.kind == LearningKind::ForwardOnly) return {};
  if (learning.kind == LearningKind::Backprop) return {{0, length - 1}};
  std::vector<std::pair<std::int32_t, std::int32_t>> all;
  for (std::int32_t first = 0;; first += learning.stride) {
    all.push_back({first, std::min(first + learning.window, length) - 1});
    if (all.back().second == length - 1) return all;
  }
}

// Whether one window holds the places `first` and `last` of a route.
bool share(const Learning& learning, std::int32_t length, std::int32_t first, std::int32_t last) {
  const auto all = windows(learning, length);
  return first >= 0 && last < length && std::any_of(all.begin(), all.end(), [&](const auto& w) {
           return w.first <= first && last <= w.second;
         });
}

// Whether this kind of op takes the gradient of the stage behind.
bool takes_gradient(const Learning& learning, const Route& route, std::int32_t at, OpKind kind) {
  const auto length = static_cast<std::int32_t>(route.size());
  if (kind == OpKind::Forward || !share(learning, length, at, at + 1)) return false;
  if (kind == OpKind::Backward) return true;
  // What goes back from here is made by I. It needs what comes from behind if that goes on.
  const bool sends = share(learning, length, at - 1, at);
  const bool needs = !sends || share(learning, length, at - 1, at + 1);
  return needs == (kind == OpKind::BackwardInput);
}

OpKind backward_of(const std::vector<bool>& splits, std::int32_t stage) {
  return splits[static_cast<std::size_t>(stage)] ? OpKind::BackwardInput : OpKind::Backward;
}

}  // namespace

std::vector<Op> all_ops(const Pipeline& pipeline, const std::vector<bool>& splits) {
  std::vector<Op> ops;
  for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
    const auto microbatch = static_cast<std::int32_t>(m);
    for (const std::int32_t stage : route_of(pipeline, microbatch)) {
      for (std::int32_t slice = 0; slice < pipeline.microbatches[m].slices(); ++slice) {
        ops.push_back({OpKind::Forward, stage, microbatch, slice});
        if (pipeline.learning.kind == LearningKind::ForwardOnly) continue;
        ops.push_back({backward_of(splits, stage), stage, microbatch, slice});
        if (splits[static_cast<std::size_t>(stage)]) {
          ops.push_back({OpKind::BackwardWeight, stage, microbatch, slice});
        }
      }
    }
  }
  return ops;
}

std::vector<Op> needs(const Pipeline& pipeline, const std::vector<bool>& splits, const Op& op) {
  const auto [kind, stage, m, slice] = op;
  const Route& route = route_of(pipeline, m);
  const auto at =
      static_cast<std::int32_t>(std::find(route.begin(), route.end(), stage) - route.begin());
  std::vector<Op> inputs;
  if (kind == OpKind::Forward) {
    if (at > 0) inputs.push_back({kind, route[static_cast<std::size_t>(at - 1)], m, slice});
    if (slice > 0) inputs.push_back({kind, stage, m, slice - 1});
    return inputs;
  }
  const bool weight = kind == OpKind::BackwardWeight;
  inputs.push_back({weight ? OpKind::BackwardInput : OpKind::Forward, stage, m, slice});
  if (takes_gradient(pipeline.learning, route, at, kind)) {
    const std::int32_t behind = route[static_cast<std::size_t>(at + 1)];
    inputs.push_back({backward_of(splits, behind), behind, m, slice});
  }
  const std::int32_t slices = pipeline.microbatches[static_cast<std::size_t>(m)].slices();
  if (!weight && slice + 1 < slices) inputs.push_back({kind, stage, m, slice + 1});
  return inputs;
}

std::vector<Op> starts_to_end(const Pipeline& pipeline, const Op& op) {
  const std::int32_t capacity = pipeline.learning.queue_capacity;
  if (capacity == 0 || op.kind != OpKind::Forward) return {};
  const std::int32_t number = pipeline.microbatches[static_cast<std::size_t>(op.microbatch)].route;
  const Route& route = pipeline.routes[static_cast<std::size_t>(number)];
  const auto next = std::find(route.begin(), route.end(), op.stage) + 1;
  if (next == route.end()) return {};
  std::vector<Op> before;  // on the next stage
  for (std::int32_t m = 0; m <= op.microbatch; ++m) {
    const Microbatch& microbatch = pipeline.microbatches[static_cast<std::size_t>(m)];
    if (microbatch.route != number) continue;
    const std::int32_t end = m == op.microbatch ? op.slice : microbatch.slices();
    for (std::int32_t slice = 0; slice < end; ++slice) before.push_back({op.kind, *next, m, slice});
  }
  if (static_cast<std::int32_t>(before.size()) < capacity) return {};
  return {before[before.size() - static_cast<std::size_t>(capacity)]};
}

}  // namespace penstock
