#include <algorithm>
#include <cmath>
#include <numeric>

#include "penstock/costs.h"
#include "penstock/index.h"

namespace penstock {
namespace {

// Of a time, or of bytes.
std::int64_t part_of(std::int64_t whole, double share) {
  return std::llround(static_cast<double>(whole) * share);
}

// How many stages of its own route share an actor with each stage.
std::vector<std::int32_t> sharers(const Pipeline& pipeline) {
  std::vector<std::int32_t> count(pipeline.stages.size(), 0);
  for (const Route& route : pipeline.routes) {
    std::vector<std::int32_t> on_actor(index(pipeline.actors), 0);
    const auto of = [&](std::int32_t stage) -> std::int32_t& {
      return on_actor[index(pipeline.stages[index(stage)].actor)];
    };
    for (const std::int32_t stage : route) ++of(stage);
    for (const std::int32_t stage : route) count[index(stage)] = of(stage);
  }
  return count;
}

// [microbatch][slice]: every slice takes its share of the tokens, of time and bytes alike.
std::vector<std::vector<std::int64_t>> over_slices(std::int64_t whole, const Pipeline& pipeline) {
  std::vector<std::vector<std::int64_t>> rows;
  for (const Microbatch& microbatch : pipeline.microbatches) {
    std::vector<std::int64_t>& row = rows.emplace_back();
    if (microbatch.slice_tokens.empty()) row.push_back(whole);
    const auto total = std::accumulate(microbatch.slice_tokens.begin(),
                                       microbatch.slice_tokens.end(), std::int64_t{0});
    for (const std::int32_t tokens : microbatch.slice_tokens) {
      row.push_back(part_of(whole, static_cast<double>(tokens) / static_cast<double>(total)));
    }
  }
  return rows;
}

Duration shared(const Duration& whole, double share, const Pipeline& pipeline) {
  if (whole.varied.empty() && is_sliced(pipeline)) {
    const Nanoseconds base = part_of(whole.base, share);
    return {.base = base, .varied = over_slices(base, pipeline), .microbatch_varies = true};
  }
  Duration duration = whole;
  duration.base = part_of(whole.base, share);
  for (auto& row : duration.varied) {
    for (Nanoseconds& time : row) time = part_of(time, share);
  }
  return duration;
}

StageCosts shared(const StageCosts& whole, double share, const Pipeline& pipeline) {
  StageCosts costs = whole;
  for (auto& duration : costs.op) {
    if (duration) duration = shared(*duration, share, pipeline);
  }
  costs.update = part_of(whole.update, share);
  costs.reduce = part_of(whole.reduce, share);
  costs.activation_bytes = part_of(whole.activation_bytes, share);
  if (whole.kept_bytes) costs.kept_bytes = part_of(*whole.kept_bytes, share);
  if (whole.left_bytes) costs.left_bytes = part_of(*whole.left_bytes, share);
  costs.weight_bytes = part_of(whole.weight_bytes, share);
  if (is_sliced(pipeline) && whole.message.varied.empty() && whole.message.bytes > 0) {
    costs.message.varied = over_slices(whole.message.bytes, pipeline);
    costs.message.microbatch_varies = true;
  }
  return costs;
}

}  // namespace

CostTable share_costs(const CostTable& by_actor, const Pipeline& pipeline) {
  const std::vector<std::int32_t> count = sharers(pipeline);
  CostTable costs = by_actor;
  costs.stages.clear();
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    const auto actor = index(pipeline.stages[stage].actor);
    costs.stages.push_back(shared(by_actor.stages[actor], 1.0 / count[stage], pipeline));
  }
  if (by_actor.overlap_fb) {
    const std::int32_t most = *std::max_element(count.begin(), count.end());
    costs.overlap_fb = part_of(*by_actor.overlap_fb, 1.0 / most);
  }
  return costs;
}

}  // namespace penstock
