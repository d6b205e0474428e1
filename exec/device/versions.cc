#include "device/versions.h"

#include <algorithm>

#include "penstock/index.h"

namespace penstock {
namespace {

constexpr std::int32_t kFree = -1;

// The number of the first `value` in `buffers`, which get one more where there is none.
std::int32_t first_with(std::int32_t value, std::vector<std::int32_t>& buffers) {
  const auto found = std::ranges::find(buffers, value);
  const auto number = static_cast<std::int32_t>(found - buffers.begin());
  if (found == buffers.end()) buffers.push_back(value);
  return number;
}

}  // namespace

// Runs through the step once, for the number of buffers.
Versions::Versions(std::span<const Op> order, const Units& units)
    : units_(units), readers_{0}, read_(units.count(), 0), holds_{kFree} {
  for (const Op& op : order) {
    if (op.kind != OpKind::Update) continue;
    group_.resize(std::max(group_.size(), index(op.microbatch) + 1), updates_);
    ++updates_;
  }
  if (!updates_inside()) return;
  for (const Op& op : order) {
    if (op.kind == OpKind::Update) {
      update();
    } else {
      if (gives_weight_gradient(op.kind)) gradients_of(op);
      finish(op);
    }
  }
}

std::int32_t Versions::values_of(const Op& op) const {
  return op.kind == OpKind::Forward ? current_ : read_[units_.of(op)];
}

std::int32_t Versions::gradients_of(const Op& op) {
  return updates_inside() ? gradients_of_group(group_[index(op.microbatch)]) : 0;
}

std::int32_t Versions::gradients_of_group(std::int32_t group) {
  const auto held = std::ranges::find(holds_, group);
  if (held != holds_.end()) return static_cast<std::int32_t>(held - holds_.begin());
  const std::int32_t buffer = first_with(kFree, holds_);
  holds_[index(buffer)] = group;
  return buffer;
}

void Versions::finish(const Op& op) {
  if (!updates_inside()) return;
  std::int32_t& read = read_[units_.of(op)];
  if (op.kind == OpKind::Forward) {
    read = current_;
    ++readers_[index(current_)];
  } else if (gives_weight_gradient(op.kind)) {
    --readers_[index(read)];
  }
}

Versions::Update Versions::update() {
  const std::int32_t gradients = gradients_of_group(next_);
  holds_[index(gradients)] = kFree;
  next_ = (next_ + 1) % updates_;
  if (readers_[index(current_)] > 0) current_ = first_with(0, readers_);
  return {.to = current_, .gradients = gradients};
}

}  // namespace penstock
