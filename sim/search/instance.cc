#include "instance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

constexpr Nanoseconds kNotAllowed = -1;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::int64_t kMostParts = 1'000'000'000;

bool gives(const StageCosts& costs, OpKind kind) {
  return costs.op[static_cast<std::size_t>(kind)].has_value();
}

// Of a Duration, or a MessageCost.
template <class Varied>
bool same_for_all(const Varied& given) {
  if (!given.microbatch_varies) return true;
  return std::all_of(given.varied.begin(), given.varied.end(),
                     [&](const auto& row) { return row == given.varied.front(); });
}

bool alike(const Pipeline& pipeline, const CostTable& costs) {
  return std::all_of(pipeline.microbatches.begin(), pipeline.microbatches.end(),
                     [](const Microbatch& m) { return m.slices() == 1; }) &&
         std::all_of(costs.stages.begin(), costs.stages.end(), [](const StageCosts& stage) {
           return same_for_all(stage.message) &&
                  std::all_of(stage.op.begin(), stage.op.end(),
                              [](const auto& given) { return !given || same_for_all(*given); });
         });
}

// What slice `slice` of `slices` has of a microbatch's `total`: the parts add up to it.
std::int64_t share(std::int64_t total, std::int32_t slice, std::int32_t slices) {
  return total / slices + (slice < total % slices ? 1 : 0);
}

}  // namespace

Instance::Instance(Pipeline pipeline, CostTable costs, const Backwards& allowed,
                   const std::vector<double>& in_flight, const std::vector<std::int64_t>& bytes)
    : pipeline_(std::move(pipeline)),
      costs_(std::move(costs)),
      needs_(pipeline_),
      alike_(alike(pipeline_, costs_)) {
  lay_out_nodes();
  price(allowed);
  measure_rooms();
  set_limits(in_flight, bytes);
}

void Instance::lay_out_nodes() {
  op_.resize(index(needs_.units()));
  for (std::size_t m = 0; m < pipeline_.microbatches.size(); ++m) {
    const Microbatch& microbatch = pipeline_.microbatches[m];
    for (const std::int32_t stage : pipeline_.routes[index(microbatch.route)]) {
      for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
        const Op op{OpKind::Forward, stage, static_cast<std::int32_t>(m), slice};
        op_[index(needs_.unit(op))] = op;
      }
    }
  }
  nodes_.resize(index(nodes()));
  ChannelNumbers channel_of;
  for (std::int32_t node = 0; node < nodes(); ++node) connect(node, channel_of);
}

void Instance::connect(std::int32_t node, ChannelNumbers& channel_of) {
  Op op = forward_of(unit_of(node));
  op.kind = kind_of(node);
  Node& here = nodes_[index(node)];
  here.actor = pipeline_.stages[index(op.stage)].actor;
  std::size_t own = 0;
  needs_.visit_inputs(op, [&](const Op& input) {
    const std::int32_t from = node_of(input);
    const std::int32_t sender = pipeline_.stages[index(input.stage)].actor;
    if (sender == here.actor) {
      here.own[own++] = from;
      return;
    }
    here.input = from;
    Node& giver = nodes_[index(from)];
    giver.consumer = node;
    const auto [channel, is_new] = channel_of.try_emplace({sender, here.actor}, channels_);
    if (is_new) ++channels_;
    giver.channel = channel->second;
    const std::int32_t boundary = op.kind == OpKind::Forward ? input.stage : op.stage;
    const MessageCost& message = costs_.stages[index(boundary)].message;
    giver.occupancy = message.occupancy(message.bytes_of(input.microbatch, input.slice));
    giver.latency = message.latency;
    limits_bandwidth_ |= giver.occupancy > 0;
  });
}

void Instance::price(const Backwards& allowed) {
  duration_.assign(index(nodes()), kNotAllowed);
  whole_.assign(index(units()), kNotAllowed);
  for (std::int32_t unit = 0; unit < units(); ++unit) {
    Op op = forward_of(unit);
    const StageCosts& costs = costs_.stages[index(op.stage)];
    const auto price_of = [&](OpKind kind) {
      op.kind = kind;
      return costs_.duration(op);
    };
    const auto first = index(kNodesPerUnit * unit);
    duration_[first] = price_of(OpKind::Forward);
    const bool halves = gives(costs, OpKind::BackwardInput) && gives(costs, OpKind::BackwardWeight);
    if (allowed.split && halves) {
      duration_[first + 1] = price_of(OpKind::BackwardInput);
      duration_[first + 2] = price_of(OpKind::BackwardWeight);
    }
    if (allowed.whole && (halves || gives(costs, OpKind::Backward))) {
      whole_[index(unit)] = price_of(OpKind::Backward);
    }
    splitting_is_free_ &=
        may_be_split(unit) &&
        (!may_be_whole(unit) || whole(unit) >= duration_[first + 1] + duration_[first + 2]);
  }
}

// In parts so small that every chunk of every slice is a whole number of them.
void Instance::measure_rooms() {
  const std::size_t routes = pipeline_.routes.size();
  std::vector<std::int64_t> chunks(index(actors()) * routes, 0);
  std::vector<std::size_t> place(pipeline_.stages.size());
  for (std::size_t route = 0; route < routes; ++route) {
    for (const std::int32_t stage : pipeline_.routes[route]) {
      place[index(stage)] = index(pipeline_.stages[index(stage)].actor) * routes + route;
      ++chunks[place[index(stage)]];
    }
  }
  for (const std::int64_t count : chunks) {
    if (count > 0) parts_ = std::min(std::lcm(parts_, count), kMostParts);
  }
  std::int64_t slices = 1;
  for (const Microbatch& microbatch : pipeline_.microbatches) {
    slices = std::min(std::lcm(slices, std::int64_t{microbatch.slices()}), kMostParts);
  }
  parts_ = std::min(parts_ * slices, kMostParts);
  for (const Op& op : op_) {
    const std::int32_t count = pipeline_.microbatches[index(op.microbatch)].slices();
    const std::int64_t parts = parts_ / chunks[place[index(op.stage)]];
    const StageCosts& costs = costs_.stages[index(op.stage)];
    const std::int64_t bytes = share(costs.activation_bytes, op.slice, count);
    room_.push_back({share(parts, op.slice, count), bytes});
    freed_early_.push_back({.bytes = bytes - share(left_bytes(costs), op.slice, count)});
  }
}

void Instance::set_limits(const std::vector<double>& in_flight,
                          const std::vector<std::int64_t>& bytes) {
  limit_.assign(index(actors()), {kNoLimit, kNoLimit});
  for (std::size_t actor = 0; actor < limit_.size(); ++actor) {
    if (!in_flight.empty()) {
      const double parts = in_flight[actor] * static_cast<double>(parts_);
      limit_[actor].parts = static_cast<std::int64_t>(std::floor(std::min(parts + 1e-6, 1e15)));
    }
    if (!bytes.empty()) limit_[actor].bytes = bytes[actor];
  }
  if (bytes.empty()) return;
  for (std::size_t stage = 0; stage < pipeline_.stages.size(); ++stage) {
    limit_[index(pipeline_.stages[stage].actor)].bytes -= costs_.stages[stage].weight_bytes;
  }
}

}  // namespace penstock
