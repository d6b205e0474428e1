#include "shift.h"

#include <algorithm>

#include "penstock/index.h"

namespace penstock {
namespace {

bool needs(const Instance& instance, const Item& user, const Item& input) {
  for (const std::int32_t node : {user.first, user.second}) {
    if (node == kNone) continue;
    for (const std::int32_t own : instance.node(node).own) {
      if (own != kNone && (own == input.first || own == input.second)) return true;
    }
  }
  return false;
}

// visit(old position) for what the shift moves, in the new order.
template <class Visit>
void visit_moved(const Shift& shift, Visit visit) {
  if (shift.from < shift.to) {
    for (std::int32_t i = shift.from + 1; i <= shift.to; ++i) visit(i);
    visit(shift.from);
  } else {
    visit(shift.from);
    for (std::int32_t i = shift.to; i < shift.from; ++i) visit(i);
  }
}

void open(const Instance& instance, const Item& item, Room& held) {
  for (const std::int32_t node : {item.first, item.second}) {
    if (node != kNone && opens(node)) held += instance.room(unit_of(node));
  }
}

void close(const Instance& instance, const Order& order, const Item& item, Room& held) {
  for (const std::int32_t node : {item.first, item.second}) {
    if (node != kNone) held -= freed_by(instance, order, node);
  }
}

}  // namespace

void apply(const Shift& shift, std::vector<Item>& items) {
  const auto at = [&](std::int32_t i) { return items.begin() + i; };
  if (shift.from < shift.to) {
    std::rotate(at(shift.from), at(shift.from + 1), at(shift.to + 1));
  } else {
    std::rotate(at(shift.to), at(shift.from), at(shift.from + 1));
  }
}

bool keeps_inputs(const Instance& instance, const std::vector<Item>& items, const Shift& shift) {
  const Item& moved = items[index(shift.from)];
  for (std::int32_t i = shift.from + 1; i <= shift.to; ++i) {
    if (needs(instance, items[index(i)], moved)) return false;
  }
  for (std::int32_t i = shift.to; i < shift.from; ++i) {
    if (needs(instance, moved, items[index(i)])) return false;
  }
  return true;
}

bool keeps_limit(const Instance& instance, const Order& order, const Shift& shift,
                 const Room& held_first) {
  const std::vector<Item>& items = order.items[index(shift.actor)];
  Room held = held_first;
  bool good = true;
  visit_moved(shift, [&](std::int32_t i) {
    open(instance, items[index(i)], held);
    good &= held.fits(instance.limit(shift.actor));
    close(instance, order, items[index(i)], held);
  });
  return good;
}

std::vector<Room> held_before(const Instance& instance, const Order& order, std::int32_t actor) {
  const std::vector<Item>& items = order.items[index(actor)];
  std::vector<Room> before;
  before.reserve(items.size());
  Room held;
  for (const Item& item : items) {
    before.push_back(held);
    open(instance, item, held);
    close(instance, order, item, held);
  }
  return before;
}

Nanoseconds ShiftEstimate::of(const Order& order, const SweepTimes& times, const Shift& shift) {
  const std::int32_t first = std::min(shift.from, shift.to);
  const std::int32_t behind = std::max(shift.from, shift.to) + 1;
  const auto size = static_cast<std::int32_t>(order.items[index(shift.actor)].size());
  Nanoseconds head = first > 0 ? times.end({shift.actor, first - 1}) : 0;
  moved_.clear();
  visit_moved(shift, [&](std::int32_t i) {
    const Place place{shift.actor, i};
    head = std::max(head, times.arrival(place));
    moved_.push_back({place, head});
    head += times.duration(place);
  });
  Nanoseconds tail = behind < size ? times.tail({shift.actor, behind}) : 0;
  Nanoseconds longest = 0;
  for (auto moved = moved_.rbegin(); moved != moved_.rend(); ++moved) {
    tail = std::max(tail, times.message_tail(moved->place)) + times.duration(moved->place);
    longest = std::max(longest, moved->head + tail);
  }
  return longest;
}

}  // namespace penstock
