// File: order.h. A schedule as the search changes it: each actor's nodes in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "instance.h"
#include "penstock/schedule.h"

namespace penstock {

// What starts together: one node, or the two of an overlapped pair.
struct Item {
  std::int32_t first = kNone;
  std::int32_t second = kNone;

  bool is_pair() const { return second != kNone; }
  bool operator==(const Item&) const = default;
};

struct Order {
  std::vector<std::vector<Item>> items = {};  // by actor
  std::vector<char> split = {};               // by unit: I and W instead of B
  bool operator==(const Order&) const = default;
};

// REQUIRES: check(schedule).empty(), the pipeline is the instance's, and the forms of the backward
// are allowed there.
Order order_of(const Instance& instance, const Schedule& schedule);
Schedule schedule_of(const Instance& instance, const Order& order, std::string name);

// How long the node takes, and the item: see CostTable::overlap_fb.
Nanoseconds duration_of(const Instance& instance, const Order& order, std::int32_t node);
Nanoseconds duration_of(const Instance& instance, const Order& order, const Item& item);

// B or W: the unit's activation is free afterwards.
inline bool closes(const Order& order, std::int32_t node) {
  const OpKind kind = kind_of(node);
  if (kind == OpKind::Forward) return false;
  return kind == OpKind::BackwardWeight ||
         order.split[static_cast<std::size_t>(unit_of(node))] == 0;
}
inline bool opens(std::int32_t node) {
  return kind_of(node) == OpKind::Forward;
}

// What is free when the node has ended: all of its unit's room at B; at I and W, a part each.
Room freed_by(const Instance& instance, const Order& order, std::int32_t node);

bool has_pairs(const Order& order);

// The most that the actor holds at once.
Room peak_room(const Instance& instance, const Order& order, std::int32_t actor);
bool fits(const Instance& instance, const Order& order);

// Splits every whole backward: W right behind I. A pair's stays whole.
Order split_all(const Instance& instance, Order order);

}  // namespace penstock
