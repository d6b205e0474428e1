#include "rebuild.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "list_schedule.h"
#include "penstock/index.h"
#include "sweep_times.h"

namespace penstock {
namespace {

// By node: when it starts, or (the later the less follows) when it must.
std::vector<std::int64_t> keys_of(const Order& order, const SweepTimes& times, bool by_tail,
                                  std::size_t nodes) {
  std::vector<std::int64_t> keys(nodes, 0);
  for (std::size_t actor = 0; actor < order.items.size(); ++actor) {
    for (std::size_t i = 0; i < order.items[actor].size(); ++i) {
      const Place place{static_cast<std::int32_t>(actor), static_cast<std::int32_t>(i)};
      const Nanoseconds key = by_tail ? times.makespan() - times.tail(place) : times.start(place);
      keys[index(order.items[actor][i].first)] = key;
    }
  }
  return keys;
}

}  // namespace

std::optional<Candidate> rebuild(const Instance& instance, const Candidate& candidate,
                                 double displaced, Budget& budget, Random& random) {
  if (has_pairs(candidate.order)) return std::nullopt;
  SweepTimes times(instance);
  if (!budget.spend(kBuilding) || !times.sweep(candidate.order)) return std::nullopt;
  times.sweep_back(candidate.order);
  const bool by_tail = random.below(2) == 0;
  Rule rule{.key = keys_of(candidate.order, times, by_tail, index(instance.nodes())),
            .split = candidate.order.split};
  const auto reach = static_cast<std::int64_t>(displaced * static_cast<double>(times.makespan()));
  if (reach > 0) {
    for (std::int64_t& key : rule.key) {
      if (random.below(4) == 0) key += random.below(2 * reach + 1) - reach;
    }
  }
  rule.patience = random.below(3) * times.makespan() / 200;
  std::optional<Order> order = list_schedule(instance, rule);
  if (!order || !times.sweep(*order)) return std::nullopt;
  return Candidate{std::move(*order), times.makespan(), candidate.origin};
}

}  // namespace penstock
