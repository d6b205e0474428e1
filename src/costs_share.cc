#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "penstock/costs.h"
#include "penstock/error.h"

namespace penstock {
namespace {

Nanoseconds part_of(Nanoseconds whole, double share) {
  return std::llround(static_cast<double>(whole) * share);
}

std::int64_t bytes_of(std::int64_t whole, double share) {
  return std::llround(static_cast<double>(whole) * share);
}

// How many stages of its own route share an actor with each stage.
std::vector<std::int32_t> sharers(const Pipeline& pipeline) {
  std::vector<std::int32_t> count(pipeline.stages.size(), 0);
  for (const Route& route : pipeline.routes) {
    std::vector<std::int32_t> on_actor(static_cast<std::size_t>(pipeline.actors), 0);
    const auto of = [&](std::int32_t stage) -> std::int32_t& {
      return on_actor[static_cast<std::size_t>(
          pipeline.stages[static_cast<std::size_t>(stage)].actor)];
    };
    for (const std::int32_t stage : route) ++of(stage);
    for (const std::int32_t stage : route) count[static_cast<std::size_t>(stage)] = of(stage);
  }
  return count;
}

bool sliced(const Pipeline& pipeline) {
  return std::any_of(pipeline.microbatches.begin(), pipeline.microbatches.end(),
                     [](const Microbatch& microbatch) { return microbatch.slices() > 1; });
}

// Every slice takes its share of the tokens.
Duration over_slices(Nanoseconds whole, const Pipeline& pipeline) {
  Duration duration{.base = whole, .microbatch_varies = true};
  for (const Microbatch& microbatch : pipeline.microbatches) {
    std::vector<Nanoseconds>& row = duration.varied.emplace_back();
    if (microbatch.slice_tokens.empty()) row.push_back(whole);
    const auto total = std::accumulate(microbatch.slice_tokens.begin(),
                                       microbatch.slice_tokens.end(), std::int64_t{0});
    for (const std::int32_t tokens : microbatch.slice_tokens) {
      row.push_back(part_of(whole, static_cast<double>(tokens) / static_cast<double>(total)));
    }
  }
  return duration;
}

// The costs file has one list for all microbatches: that of the most slices.
std::vector<std::int64_t> slice_bytes(std::int64_t whole, const std::vector<Microbatch>& all) {
  const Microbatch& most = *std::max_element(
      all.begin(), all.end(),
      [](const Microbatch& a, const Microbatch& b) { return a.slices() < b.slices(); });
  const auto total =
      std::accumulate(most.slice_tokens.begin(), most.slice_tokens.end(), std::int64_t{0});
  std::vector<std::int64_t> bytes;
  for (const std::int32_t tokens : most.slice_tokens) {
    bytes.push_back(bytes_of(whole, static_cast<double>(tokens) / static_cast<double>(total)));
  }
  return bytes;
}

Duration shared(const Duration& whole, double share, const Pipeline& pipeline) {
  if (whole.varied.empty() && sliced(pipeline)) {
    return over_slices(part_of(whole.base, share), pipeline);
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
  costs.activation_bytes = bytes_of(whole.activation_bytes, share);
  if (whole.kept_bytes) costs.kept_bytes = bytes_of(*whole.kept_bytes, share);
  costs.weight_bytes = bytes_of(whole.weight_bytes, share);
  if (sliced(pipeline) && whole.message.slice_bytes.empty() && whole.message.bytes > 0) {
    costs.message.slice_bytes = slice_bytes(whole.message.bytes, pipeline.microbatches);
  }
  return costs;
}

// One list of bytes serves all microbatches, so that messages are shared out evenly or not at all.
void refuse_uneven_slices(const CostTable& by_actor, const std::vector<Microbatch>& all) {
  const bool sends =
      std::any_of(by_actor.stages.begin(), by_actor.stages.end(), [](const StageCosts& stage) {
        return stage.message.slice_bytes.empty() && stage.message.bytes > 0;
      });
  if (!sends) return;
  const auto other = std::find_if(all.begin(), all.end(), [&](const Microbatch& microbatch) {
    return microbatch.slices() != all.front().slices();
  });
  if (other == all.end()) return;
  throw Error("costs",
              fmt::format("the bytes of a message cannot be shared out: microbatch 0 has {} "
                          "slice{}, microbatch {} has {}",
                          all.front().slices(), all.front().slices() == 1 ? "" : "s",
                          other - all.begin(), other->slices()),
              "give costs per stage, or messages of 0 bytes");
}

}  // namespace

CostTable share_costs(const CostTable& by_actor, const Schedule& schedule) {
  const Pipeline& pipeline = schedule.pipeline;
  refuse_uneven_slices(by_actor, pipeline.microbatches);
  const std::vector<std::int32_t> count = sharers(pipeline);
  CostTable costs = by_actor;
  costs.stages.clear();
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    const auto actor = static_cast<std::size_t>(pipeline.stages[stage].actor);
    costs.stages.push_back(shared(by_actor.stages[actor], 1.0 / count[stage], pipeline));
  }
  if (by_actor.overlap_fb) {
    const std::int32_t most = *std::max_element(count.begin(), count.end());
    costs.overlap_fb = part_of(*by_actor.overlap_fb, 1.0 / most);
  }
  return costs;
}

}  // namespace penstock
