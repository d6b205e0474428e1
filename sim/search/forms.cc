#include "forms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "penstock/index.h"
#include "sweep_times.h"

namespace penstock {
namespace {

// Units with a node that cannot be late.
std::vector<std::int32_t> critical_units(const Order& order, SweepTimes& times) {
  times.sweep_back(order);
  std::vector<std::int32_t> units;
  for (const Place& place : times.sequence()) {
    const Item& item = order.items[index(place.actor)][index(place.position)];
    const bool critical = times.start(place) + times.tail(place) == times.makespan();
    if (critical && !opens(item.first)) units.push_back(unit_of(item.first));
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

// B becomes I and W right behind it, I and W become B. False: an overlapped pair holds one of them.
bool change_form(const Instance& instance, std::int32_t unit, Order& order) {
  const Item backward{.first = kNodesPerUnit * unit + 1};
  const Item weight{.first = kNodesPerUnit * unit + 2};
  std::vector<Item>& items = order.items[index(instance.node(backward.first).actor)];
  char& split = order.split[index(unit)];
  const auto found = std::find(items.begin(), items.end(), split != 0 ? weight : backward);
  if (found == items.end()) return false;
  if (split != 0) {
    items.erase(found);
  } else {
    items.insert(found + 1, weight);
  }
  split = split == 0 ? 1 : 0;
  return true;
}

bool may_change(const Instance& instance, std::int32_t unit) {
  return instance.may_be_split(unit) && instance.may_be_whole(unit);
}

}  // namespace

Candidate with_best_forms(const Instance& instance, Candidate candidate, Budget& budget) {
  SweepTimes times(instance);
  bool better = true;
  while (better) {
    better = false;
    if (!budget.spend() || !times.sweep(candidate.order)) break;
    for (const std::int32_t unit : critical_units(candidate.order, times)) {
      if (!may_change(instance, unit)) continue;
      if (!budget.spend()) break;
      Order changed = candidate.order;
      if (!change_form(instance, unit, changed) || !times.sweep(changed)) continue;
      if (times.makespan() >= candidate.makespan) continue;
      candidate.order = std::move(changed);
      candidate.makespan = times.makespan();
      better = true;
    }
  }
  return candidate;
}

}  // namespace penstock
