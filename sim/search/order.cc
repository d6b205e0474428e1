#include "order.h"

#include <algorithm>
#include <utility>

#include "penstock/index.h"

namespace penstock {
namespace {

Op op_of(const Instance& instance, const Order& order, std::int32_t node) {
  Op op = instance.forward_of(unit_of(node));
  op.kind = kind_of(node);
  if (op.kind == OpKind::Backward && order.split[index(unit_of(node))] != 0) {
    op.kind = OpKind::BackwardInput;
  }
  return op;
}

// What opens does so at the item's start, what closes at its end.
template <class Visit>
void visit_rooms(const Instance& instance, const Order& order, const Item& item, Visit visit) {
  for (const std::int32_t node : {item.first, item.second}) {
    if (node != kNone && opens(node)) visit(instance.room(unit_of(node)), true);
  }
  for (const std::int32_t node : {item.first, item.second}) {
    if (node != kNone) visit(freed_by(instance, order, node), false);
  }
}

}  // namespace

Order order_of(const Instance& instance, const Schedule& schedule) {
  Order order{.items = {}, .split = std::vector<char>(index(instance.units()), 0)};
  for (const std::vector<Step>& steps : schedule.order) {
    std::vector<Item>& items = order.items.emplace_back();
    items.reserve(steps.size());
    for (const Step& step : steps) {
      const std::int32_t node = instance.node_of(step.op);
      if (step.op.kind == OpKind::BackwardWeight) order.split[index(unit_of(node))] = 1;
      if (step.overlaps_previous) {
        items.back().second = node;
      } else {
        items.push_back({.first = node});
      }
    }
  }
  return order;
}

Schedule schedule_of(const Instance& instance, const Order& order, std::string name) {
  Schedule schedule{.name = std::move(name), .pipeline = instance.pipeline(), .order = {}};
  for (const std::vector<Item>& items : order.items) {
    std::vector<Step>& steps = schedule.order.emplace_back();
    for (const Item& item : items) {
      steps.push_back({op_of(instance, order, item.first)});
      if (item.is_pair()) steps.push_back({op_of(instance, order, item.second), true});
    }
  }
  return schedule;
}

Nanoseconds duration_of(const Instance& instance, const Order& order, std::int32_t node) {
  const std::int32_t unit = unit_of(node);
  const bool whole = kind_of(node) == OpKind::Backward && order.split[index(unit)] == 0;
  return whole ? instance.whole(unit) : instance.duration(node);
}

Nanoseconds duration_of(const Instance& instance, const Order& order, const Item& item) {
  if (!item.is_pair()) return duration_of(instance, order, item.first);
  if (instance.costs().overlap_fb) return *instance.costs().overlap_fb;
  return duration_of(instance, order, item.first) + duration_of(instance, order, item.second);
}

Room freed_by(const Instance& instance, const Order& order, std::int32_t node) {
  const std::int32_t unit = unit_of(node);
  if (opens(node)) return {};
  const bool split = order.split[index(unit)] != 0;
  if (!closes(order, node)) return instance.freed_early(unit);
  Room room = instance.room(unit);
  if (split) room -= instance.freed_early(unit);
  return room;
}

Room peak_room(const Instance& instance, const Order& order, std::int32_t actor) {
  Room held;
  Room peak;
  for (const Item& item : order.items[index(actor)]) {
    visit_rooms(instance, order, item, [&](const Room& room, bool opening) {
      if (opening) {
        held += room;
      } else {
        held -= room;
      }
      peak.parts = std::max(peak.parts, held.parts);
      peak.bytes = std::max(peak.bytes, held.bytes);
    });
  }
  return peak;
}

bool has_pairs(const Order& order) {
  return std::any_of(order.items.begin(), order.items.end(), [](const auto& items) {
    return std::any_of(items.begin(), items.end(), [](const Item& i) { return i.is_pair(); });
  });
}

bool fits(const Instance& instance, const Order& order) {
  for (std::int32_t actor = 0; actor < instance.actors(); ++actor) {
    if (!peak_room(instance, order, actor).fits(instance.limit(actor))) return false;
  }
  return true;
}

Order split_all(const Instance& instance, Order order) {
  for (std::vector<Item>& items : order.items) {
    std::vector<Item> split;
    split.reserve(items.size() * 2);
    for (const Item& item : items) {
      split.push_back(item);
      const std::int32_t unit = unit_of(item.first);
      const bool whole = kind_of(item.first) == OpKind::Backward && order.split[index(unit)] == 0;
      if (item.is_pair() || !whole || !instance.may_be_split(unit)) continue;
      order.split[index(unit)] = 1;
      split.push_back({.first = kNodesPerUnit * unit + 2});
    }
    items = std::move(split);
  }
  return order;
}

}  // namespace penstock
