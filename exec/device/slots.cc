#include "device/slots.h"

#include <algorithm>

namespace penstock {

namespace {

// Buffers numbered from 0; the lowest free one is taken.
class Pool {
 public:
  std::int32_t take() {
    const auto free = std::ranges::find(used_, false);
    const auto number = static_cast<std::int32_t>(free - used_.begin());
    if (free == used_.end()) {
      used_.push_back(true);
    } else {
      *free = true;
    }
    return number;
  }
  void give_back(std::int32_t number) { used_[static_cast<std::size_t>(number)] = false; }
  std::int32_t count() const { return static_cast<std::int32_t>(used_.size()); }

 private:
  std::vector<bool> used_;
};

}  // namespace

Slots share_out(std::span<const Op> order, const Units& units) {
  Slots slots;
  for (auto* numbers : {&slots.kept, &slots.at_first, &slots.remade, &slots.gradient}) {
    numbers->assign(units.count(), -1);
  }
  Pool kept;
  Pool remade;
  Pool gradients;
  std::vector<bool> learns(units.count(), false);
  std::vector<bool> has_r(units.count(), false);
  for (const Op& op : order) {
    if (gives_weight_gradient(op.kind)) learns[units.of(op)] = true;
    if (op.kind == OpKind::Recompute) has_r[units.of(op)] = true;
  }
  const bool recomputes = std::ranges::find(has_r, true) != has_r.end();
  for (const Op& op : order) {
    const std::size_t unit = units.of(op);
    const bool is_last = op.slice + 1 == units.slices(op.microbatch);
    if (op.kind == OpKind::Forward) {
      slots.kept[unit] = kept.take();
      if (recomputes) slots.remade[unit] = slots.at_first[unit] = remade.take();
      if (has_r[unit]) remade.give_back(slots.at_first[unit]);
    }
    if (op.kind == OpKind::Recompute) slots.remade[unit] = remade.take();
    if (op.kind == OpKind::Forward && is_last && !learns[unit]) {
      for (std::int32_t slice = 0; slice <= op.slice; ++slice) {
        kept.give_back(slots.kept[units.of(op.microbatch, slice)]);
      }
    }
    if (gives_input_gradient(op.kind) && is_last) {
      for (std::int32_t slice = 0; slice <= op.slice; ++slice) {
        slots.gradient[units.of(op.microbatch, slice)] = gradients.take();
      }
    }
    if (gives_weight_gradient(op.kind)) {
      kept.give_back(slots.kept[unit]);
      if (recomputes) remade.give_back(slots.remade[unit]);
      gradients.give_back(slots.gradient[unit]);
      ++slots.weight_gradients;
    }
  }
  slots.kept_count = kept.count();
  slots.remade_count = remade.count();
  slots.gradient_count = gradients.count();
  return slots;
}

}  // namespace penstock
