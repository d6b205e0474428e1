#include "penstock/costs.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "costs_limits.h"
#include "penstock/index.h"

namespace penstock {
namespace {

double occupancy_ns(std::int64_t bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? static_cast<double>(bytes) / bytes_per_s * 1e9 : 0;
}

// Of rows per microbatch, or of one row for all.
std::int64_t value_at(const std::vector<std::vector<std::int64_t>>& rows, bool microbatch_varies,
                      std::int32_t microbatch, std::int32_t slice) {
  return rows[microbatch_varies ? index(microbatch) : 0][index(slice)];
}

}  // namespace

Nanoseconds from_ms(double milliseconds) {
  assert(milliseconds >= 0 && milliseconds <= kLongestMs && "readers check the range");
  return std::llround(milliseconds * 1e6);
}

std::int64_t MessageCost::bytes_of(std::int32_t microbatch, std::int32_t slice) const {
  return varied.empty() ? bytes : value_at(varied, microbatch_varies, microbatch, slice);
}

std::int64_t MessageCost::largest() const {
  if (varied.empty()) return bytes;
  std::int64_t most = 0;
  for (const std::vector<std::int64_t>& row : varied) {
    for (const std::int64_t message : row) most = std::max(most, message);
  }
  return most;
}

Nanoseconds MessageCost::occupancy(std::int64_t message_bytes) const {
  return std::llround(std::min(occupancy_ns(message_bytes, bytes_per_s), kLongestMs * 1e6));
}

Nanoseconds Duration::at(std::int32_t microbatch, std::int32_t slice) const {
  return varied.empty() ? base : value_at(varied, microbatch_varies, microbatch, slice);
}

Nanoseconds CostTable::duration(const Op& op) const {
  const StageCosts& costs = stages[index(op.stage)];
  if (op.kind == OpKind::Update) return costs.update;
  const auto at = [&](OpKind kind) {
    const std::optional<Duration>& duration = costs.op[index(kind)];
    assert(duration && "missing_costs was asked first");
    return duration->at(op.microbatch, op.slice);
  };
  if (op.kind == OpKind::Backward && !costs.op[index(OpKind::Backward)]) {
    return at(OpKind::BackwardInput) + at(OpKind::BackwardWeight);
  }
  return at(op.kind);
}

CostTable uniform_costs(std::int32_t stages, const StageCosts& costs) {
  CostTable table;
  table.stages.assign(index(stages), costs);
  return table;
}

CostTable costs_of_copies(CostTable costs, const Pipeline& pipeline) {
  std::int32_t parts = 0;
  for (const Stage& stage : pipeline.stages) parts = std::max(parts, stage.part + 1);
  const bool has_copies = pipeline.stages.size() > index(parts);
  if (!has_copies || costs.stages.size() != index(parts)) return costs;
  const std::vector<StageCosts> by_part = std::move(costs.stages);
  costs.stages.clear();
  for (const Stage& stage : pipeline.stages) costs.stages.push_back(by_part[index(stage.part)]);
  return costs;
}

std::int64_t left_bytes(const StageCosts& costs) {
  return costs.left_bytes.value_or(costs.activation_bytes);
}

std::vector<std::int64_t> kept_bytes(const CostTable& costs, const Pipeline& pipeline) {
  // The input of a whole microbatch, the largest: its messages over the boundary in front of the
  // stage.
  const auto input = [&](std::int32_t before) {
    const MessageCost& message = costs.stages[index(before)].message;
    std::int64_t most = 0;
    for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
      std::int64_t bytes = 0;
      for (std::int32_t slice = 0; slice < pipeline.microbatches[m].slices(); ++slice) {
        bytes += message.bytes_of(static_cast<std::int32_t>(m), slice);
      }
      most = std::max(most, bytes);
    }
    return most;
  };
  const std::vector<std::int32_t> before = previous_on_route(pipeline);
  std::vector<std::int64_t> kept;
  for (std::size_t stage = 0; stage < before.size(); ++stage) {
    const StageCosts& given = costs.stages[stage];
    const std::int64_t tokens = 0;  // of a first stage: they are there anyway
    const std::int64_t least = before[stage] < 0 ? tokens : input(before[stage]);
    kept.push_back(std::min(given.kept_bytes.value_or(least), given.activation_bytes));
  }
  return kept;
}

std::optional<Problem> too_slow(const MessageCost& message, const std::string& where) {
  if (occupancy_ns(message.largest(), message.bytes_per_s) <= kLongestMs * 1e6) return std::nullopt;
  return Problem{where,
                 fmt::format("{} bytes at {} bytes per second take over {} ms", message.largest(),
                             message.bytes_per_s, kLongestMs),
                 "bandwidth is in bytes per second; 0 means without limit"};
}

std::optional<Problem> too_much_left(const StageCosts& costs, const std::string& where) {
  if (costs.left_bytes.value_or(0) <= costs.activation_bytes) return std::nullopt;
  return Problem{where,
                 fmt::format("I leaves {} bytes of an activation of {}", *costs.left_bytes,
                             costs.activation_bytes),
                 "allowed: 0 to the bytes of the activation"};
}

}  // namespace penstock
