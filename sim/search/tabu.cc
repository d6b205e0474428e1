#include "tabu.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "penstock/index.h"
#include "shift.h"
#include "sweep_times.h"

namespace penstock {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
// Longer shifts seldom pay and cost time in proportion.
constexpr std::int32_t kFarthest = 48;

// Items of one actor on the critical path, one behind the other without idle time.
struct Block {
  std::int32_t actor = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

class Tabu {
 public:
  Tabu(const Instance& instance, Candidate start, Nanoseconds bound, Budget& budget, Random& random)
      : instance_(instance),
        bound_(bound),
        budget_(budget),
        random_(random),
        times_(instance),
        rests_until_(index(instance.nodes()), 0),
        best_(std::move(start)),
        order_(best_.order) {}

  Candidate run() {
    const std::int64_t patience = 100 + static_cast<std::int64_t>(instance_.nodes()) / 2;
    if (!budget_.spend() || !times_.sweep(order_)) return std::move(best_);
    std::int64_t last_better = 0;
    for (turn_ = 1; turn_ - last_better <= patience && best_.makespan > bound_; ++turn_) {
      const Shift shift = best_shift();
      if (shift.actor == kNone || !budget_.spend()) break;
      if (!take(shift)) continue;
      if (times_.makespan() >= best_.makespan) continue;
      best_.makespan = times_.makespan();
      best_.order = order_;
      last_better = turn_;
    }
    return std::move(best_);
  }

 private:
  // Applies the shift; undoes it when it deadlocks.
  bool take(const Shift& shift) {
    std::vector<Item>& items = order_.items[index(shift.actor)];
    const std::int32_t moved = items[index(shift.from)].first;
    rests_until_[index(moved)] = turn_ + 8 + random_.below(12);
    apply(shift, items);
    if (times_.sweep(order_)) return true;
    apply({shift.actor, shift.to, shift.from}, items);
    times_.sweep(order_);
    rests_until_[index(moved)] += 50;
    return false;
  }

  Shift best_shift() {
    times_.sweep_back(order_);
    find_blocks();
    chosen_ = {kNone, 0, 0};
    least_ = kNever;
    ties_ = 0;
    for (const Block& block : blocks_) {
      held_ = held_before(instance_, order_, block.actor);
      for (std::int32_t i = block.first; i <= block.last; ++i) {
        if (i < block.last && block.last - i <= kFarthest) consider({block.actor, i, block.last});
        if (i > block.first && i - block.first <= kFarthest) {
          consider({block.actor, i, block.first});
        }
      }
      for (std::int32_t i = block.first; i < block.last; ++i) {
        consider({block.actor, i, i + 1});
      }
    }
    return chosen_;
  }

  void consider(const Shift& shift) {
    const std::vector<Item>& items = order_.items[index(shift.actor)];
    if (!keeps_inputs(instance_, items, shift)) return;
    const Nanoseconds estimate = estimate_.of(order_, times_, shift);
    const bool rests = rests_until_[index(items[index(shift.from)].first)] > turn_;
    if (rests && estimate >= best_.makespan) return;
    if (estimate > least_) return;
    const Room& held = held_[index(std::min(shift.from, shift.to))];
    if (!keeps_limit(instance_, order_, shift, held)) return;
    ties_ = estimate == least_ ? ties_ + 1 : 1;
    if (estimate == least_ && random_.below(ties_) != 0) return;
    least_ = estimate;
    chosen_ = shift;
  }

  // From the end of all back to a start at 0.
  void find_blocks() {
    blocks_.clear();
    Place here = last_place();
    while (true) {
      Block block{here.actor, here.position, here.position};
      while (block.first > 0 && follows_its_lane({here.actor, block.first})) --block.first;
      if (block.last > block.first) blocks_.push_back(block);
      const Place first{here.actor, block.first};
      if (times_.arrival(first) == 0 || times_.start(first) == 0) return;
      here = giver_of(first);
    }
  }

  bool follows_its_lane(const Place& place) const {
    const Place before{place.actor, place.position - 1};
    return times_.end(before) == times_.start(place);
  }

  Place last_place() const {
    for (const Place& place : times_.sequence()) {
      if (times_.end(place) == times_.makespan()) return place;
    }
    return times_.sequence().back();
  }

  // The item whose message came last.
  Place giver_of(const Place& place) const {
    const Item& item = order_.items[index(place.actor)][index(place.position)];
    std::int32_t node = item.first;
    if (item.is_pair() && times_.arrival_of(item.second) > times_.arrival_of(item.first)) {
      node = item.second;
    }
    return times_.place_of(instance_.node(node).input);
  }

  const Instance& instance_;
  const Nanoseconds bound_;
  Budget& budget_;
  Random& random_;
  SweepTimes times_;
  std::vector<std::int64_t> rests_until_;  // by an item's first node: a turn
  Candidate best_;
  Order order_;
  std::vector<Block> blocks_;
  std::vector<Room> held_;  // by the block's actor before each of its items
  ShiftEstimate estimate_;
  Shift chosen_;
  Nanoseconds least_ = kNever;
  std::int64_t ties_ = 0;
  std::int64_t turn_ = 0;
};

}  // namespace

Candidate tabu_search(const Instance& instance, Candidate start, Nanoseconds bound, Budget& budget,
                      Random& random) {
  return Tabu(instance, std::move(start), bound, budget, random).run();
}

}  // namespace penstock
