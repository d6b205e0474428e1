#include "penstock/costs.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "message_limit.h"

namespace penstock {
namespace {

std::size_t index(OpKind kind) {
  return static_cast<std::size_t>(kind);
}

double occupancy_ns(std::int64_t bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? static_cast<double>(bytes) / bytes_per_s * 1e9 : 0;
}

}  // namespace

Nanoseconds from_ms(double milliseconds) {
  assert(milliseconds >= 0 && milliseconds <= kLongestMs && "readers check the range");
  return std::llround(milliseconds * 1e6);
}

std::int64_t MessageCost::bytes_of(std::int32_t slice) const {
  return slice_bytes.empty() ? bytes : slice_bytes[static_cast<std::size_t>(slice)];
}

std::int64_t MessageCost::largest() const {
  return slice_bytes.empty() ? bytes : *std::max_element(slice_bytes.begin(), slice_bytes.end());
}

Nanoseconds MessageCost::occupancy(std::int64_t message_bytes) const {
  return std::llround(std::min(occupancy_ns(message_bytes, bytes_per_s), kLongestMs * 1e6));
}

Nanoseconds Duration::at(std::int32_t microbatch, std::int32_t slice) const {
  if (varied.empty()) return base;
  const auto& row = varied[microbatch_varies ? static_cast<std::size_t>(microbatch) : 0];
  return row[static_cast<std::size_t>(slice)];
}

Nanoseconds CostTable::duration(const Op& op) const {
  const StageCosts& costs = stages[static_cast<std::size_t>(op.stage)];
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
  table.stages.assign(static_cast<std::size_t>(stages), costs);
  return table;
}

std::optional<Problem> too_slow(const MessageCost& message, const std::string& where) {
  if (occupancy_ns(message.largest(), message.bytes_per_s) <= kLongestMs * 1e6) return std::nullopt;
  return Problem{where,
                 fmt::format("{} bytes at {} bytes per second take over {} ms", message.largest(),
                             message.bytes_per_s, kLongestMs),
                 "bandwidth is in bytes per second; 0 means without limit"};
}

}  // namespace penstock
