#include "dependencies.h"

#include <algorithm>

namespace penstock {
namespace {

const Route& route_of(const Pipeline& pipeline, std::int32_t microbatch) {
  const auto m = static_cast<std::size_t>(microbatch);
  return pipeline.routes[static_cast<std::size_t>(pipeline.microbatches[m].route)];
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
  if (kind == OpKind::BackwardWeight) return {{OpKind::BackwardInput, stage, m, slice}};
  const Route& route = route_of(pipeline, m);
  const auto at = std::find(route.begin(), route.end(), stage);
  std::vector<Op> inputs;
  if (kind == OpKind::Forward) {
    if (at != route.begin()) inputs.push_back({kind, *(at - 1), m, slice});
    if (slice > 0) inputs.push_back({kind, stage, m, slice - 1});
    return inputs;
  }
  inputs.push_back({OpKind::Forward, stage, m, slice});
  if (at + 1 != route.end())
    inputs.push_back({backward_of(splits, *(at + 1)), *(at + 1), m, slice});
  const std::int32_t slices = pipeline.microbatches[static_cast<std::size_t>(m)].slices();
  if (slice + 1 < slices) inputs.push_back({kind, stage, m, slice + 1});
  return inputs;
}

}  // namespace penstock
