#include "site.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "construct.h"
#include "memory_limit.h"
#include "relaxed.h"
#include "tabu.h"
#include "windows.h"

namespace penstock {
namespace {

constexpr std::size_t kKept = 12;

bool is_allowed(const Instance& instance, const Order& order) {
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    const bool split = order.split[static_cast<std::size_t>(unit)] != 0;
    if (split ? !instance.may_be_split(unit) : !instance.may_be_whole(unit)) return false;
  }
  return true;
}

bool overlaps(const Order& order) {
  return std::any_of(order.items.begin(), order.items.end(), [](const auto& items) {
    return std::any_of(items.begin(), items.end(), [](const Item& i) { return i.is_pair(); });
  });
}

}  // namespace

Site::Site(Instance instance, std::uint64_t seed)
    : instance_(std::move(instance)), random_(seed), pool_(kKept) {}

void Site::plant(const Schedule& schedule) {
  Order order = order_of(instance_, schedule);
  pairs_ |= overlaps(order);
  Order split = split_all(instance_, order);
  const bool differs = split != order;
  plant(std::move(order), schedule.name);
  if (differs) plant(std::move(split), schedule.name);
}

void Site::plant_one_at_a_time() {
  plant(one_at_a_time(instance_), "one microbatch at a time");
}

void Site::plant(Order order, const std::string& origin) {
  SweepTimes times(instance_);
  if (!is_allowed(instance_, order) || !fits(instance_, order) || !times.sweep(order)) return;
  pool_.add({std::move(order), times.makespan(), origin});
}

void Site::find_bound() {
  const Relaxed relaxed = relax(instance_, pairs_);
  const std::vector<Nanoseconds> heads = heads_of(relaxed);
  const std::vector<Nanoseconds> tails = heads_of(reversed(relaxed));
  bound_ = std::max(preemptive_bound(relaxed, heads, tails),
                    room_bound(instance_, relaxed, heads, tails));
}

void Site::raise_bound() {
  constexpr std::int32_t kMostNodes = 1500;
  if (instance_.nodes() > kMostNodes || pool_.empty() || is_closed()) return;
  bound_ = window_bound(relax(instance_, pairs_), bound_, pool_.best().makespan);
}

void Site::construct(Budget& budget) {
  if (!is_closed()) penstock::construct(instance_, budget, pool_);
}

// The candidates in turn as they are; from then on rebuilt before, each round with more displaced.
void Site::improve(Budget& budget) {
  for (std::size_t turn = 0; budget.left() > 0 && !pool_.empty() && !is_closed(); ++turn) {
    Candidate start = pool_.candidates()[turn % pool_.candidates().size()];
    const std::size_t round = turn / kKept;
    if (round > 0) {
      const double displaced = 0.02 * static_cast<double>(round % 5);
      auto rebuilt = rebuild(instance_, start, displaced, budget, random_);
      if (rebuilt) start = std::move(*rebuilt);
    }
    pool_.add(tabu_search(instance_, std::move(start), bound_, budget, random_));
  }
}

}  // namespace penstock
