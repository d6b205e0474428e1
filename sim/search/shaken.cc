#include "shaken.h"

#include <algorithm>
#include <utility>

#include "shift.h"
#include "sweep_times.h"

namespace penstock {
namespace {

constexpr std::int64_t kReach = 5;

Shift any_shift(const Order& order, Random& random) {
  const auto actors = static_cast<std::int64_t>(order.items.size());
  const std::int64_t actor = random.below(actors);
  const auto size = static_cast<std::int64_t>(order.items[static_cast<std::size_t>(actor)].size());
  if (size < 2) return {};
  const std::int64_t from = random.below(size);
  const std::int64_t to =
      std::clamp(from + random.below(2 * kReach + 1) - kReach, std::int64_t{0}, size - 1);
  return {static_cast<std::int32_t>(actor), static_cast<std::int32_t>(from),
          static_cast<std::int32_t>(to)};
}

}  // namespace

std::optional<Candidate> shaken(const Instance& instance, Candidate candidate, std::int64_t moves,
                                Budget& budget, Random& random) {
  SweepTimes times(instance);
  Order& order = candidate.order;
  for (std::int64_t tries = 10 * moves; moves > 0 && tries > 0; --tries) {
    const Shift shift = any_shift(order, random);
    if (shift.actor == kNone || shift.from == shift.to) continue;
    std::vector<Item>& items = order.items[static_cast<std::size_t>(shift.actor)];
    if (!keeps_inputs(instance, items, shift)) continue;
    const std::vector<Room> held = held_before(instance, order, shift.actor);
    const auto first = static_cast<std::size_t>(std::min(shift.from, shift.to));
    if (!keeps_limit(instance, order, shift, held[first])) continue;
    if (!budget.spend()) return std::nullopt;
    apply(shift, items);
    if (times.sweep(order)) {
      candidate.makespan = times.makespan();
      --moves;
    } else {
      apply({shift.actor, shift.to, shift.from}, items);
    }
  }
  return candidate;
}

}  // namespace penstock
