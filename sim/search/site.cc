#include "site.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "construct.h"
#include "exact.h"
#include "forms.h"
#include "memory_limit.h"
#include "rebuild.h"
#include "relaxed.h"
#include "shaken.h"
#include "tabu.h"
#include "windows.h"

namespace penstock {
namespace {

constexpr std::size_t kKept = 5;

bool is_allowed(const Instance& instance, const Order& order) {
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    const bool split = order.split[static_cast<std::size_t>(unit)] != 0;
    if (split ? !instance.may_be_split(unit) : !instance.may_be_whole(unit)) return false;
  }
  return true;
}

}  // namespace

Site::Site(Instance instance, std::uint64_t seed)
    : instance_(std::move(instance)), random_(seed), pool_(kKept) {}

void Site::plant(const Schedule& schedule) {
  Order order = order_of(instance_, schedule);
  pairs_ |= has_pairs(order);
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

void Site::construct(Budget& budget) {
  if (!is_closed()) penstock::construct(instance_, budget, pool_);
}

// The candidates in turn: as they are, then rebuilt, shaken, and beside them new samples.
void Site::improve(Budget& budget) {
  for (std::size_t turn = 0; budget.left() > 0 && !pool_.empty() && !is_closed(); ++turn) {
    Candidate start =
        varied(pool_.candidates()[turn % pool_.candidates().size()], turn / kKept, budget);
    Candidate found = tabu_search(instance_, std::move(start), bound_, budget, random_);
    if (!instance_.splitting_is_free()) {
      found = with_best_forms(instance_, std::move(found), budget);
    }
    pool_.add(std::move(found));
  }
}

Candidate Site::varied(const Candidate& candidate, std::size_t round, Budget& budget) {
  std::optional<Candidate> other;
  switch (round == 0 ? 0 : 1 + round % 3) {
    case 1:
      other = rebuild(instance_, candidate, 0.02 * static_cast<double>(round % 5), budget, random_);
      break;
    case 2:
      other = shaken(instance_, candidate, 2 + random_.below(8), budget, random_);
      break;
    case 3:
      other = sample(instance_, budget, random_);
      break;
  }
  return other ? *std::move(other) : candidate;
}

void Site::prove(Nanoseconds reached, std::int32_t nodes) {
  constexpr std::int32_t kMostNodes = 1500;
  if (instance_.nodes() > kMostNodes || bound_ >= reached) return;
  const Relaxed relaxed = relax(instance_, pairs_);
  bound_ = window_bound(relaxed, bound_, reached);
  if (nodes == 0 || bound_ >= reached) return;
  Exact exact = solve_exactly(instance_, relaxed, bound_, reached, nodes);
  bound_ = exact.bound;
  if (exact.order) plant(std::move(*exact.order), "integer programme");
}

}  // namespace penstock
