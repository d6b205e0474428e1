#include "penstock/search.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "memory_limit.h"
#include "penstock/check.h"
#include "penstock/index.h"
#include "penstock/metrics.h"
#include "penstock/simulate.h"
#include "request.h"
#include "seeds.h"
#include "site.h"

namespace penstock {
namespace {

// An order of more nodes counts as several, so that a budget bounds the time.
constexpr std::int64_t kNodesPerOrder = 4096;

class Searcher {
 public:
  Searcher(const CostTable& costs, const SearchOptions& options)
      : costs_(costs), options_(options) {}

  SearchResult run() {
    open_sites();
    const std::int64_t nodes = sites_.front()->instance().nodes();
    const double orders_per_node = 1.0 * kNodesPerOrder / std::max(nodes, kNodesPerOrder);
    Budget budget(std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(options_.budget) * orders_per_node)));
    // A quarter for list scheduling, shared out evenly.
    const std::int64_t each = budget.left() / 4 / static_cast<std::int64_t>(sites_.size());
    for (const auto& site : sites_) {
      site->find_bound();
      Budget share = budget.take(each);
      site->construct(share);
      budget.give_back(share);
    }
    put_best_first();
    for (const auto& site : sites_) {
      if (site->bound() >= best().pool().best().makespan) continue;
      Budget share = budget.take(site == sites_.back() ? budget.left() : budget.left() / 2);
      site->improve(share);
      budget.give_back(share);
    }
    for (const auto& site : sites_) {
      site->prove(best().pool().best().makespan, options_.tree);
    }
    return result();
  }

 private:
  // With the placements that the options name, whose limits can be kept; then the catalogue's.
  void open_sites() {
    const std::vector<double> in_flight = per_actor(options_.in_flight, options_.actors);
    const std::vector<std::int64_t> bytes = per_actor(options_.bytes, options_.actors);
    std::vector<Problem> problems;
    for (const Pipeline& pipeline : placements(options_)) {
      Instance instance = make_instance(pipeline, in_flight, bytes);
      std::vector<Problem> unmet = unmet_limits(instance, in_flight, bytes);
      if (problems.empty() || unmet.size() < problems.size()) problems = unmet;
      if (!unmet.empty()) continue;
      add_site(std::move(instance)).plant_one_at_a_time();
    }
    if (sites_.empty()) throw Error(std::move(problems));
    for (const Schedule& schedule : seeds(costs_, options_)) {
      Site* site = site_of(schedule.pipeline);
      if (site == nullptr) {
        Instance instance = make_instance(schedule.pipeline, in_flight, bytes);
        if (!unmet_limits(instance, in_flight, bytes).empty()) continue;
        site = &add_site(std::move(instance));
      }
      site->plant(schedule);
    }
  }

  Instance make_instance(const Pipeline& pipeline, const std::vector<double>& in_flight,
                         const std::vector<std::int64_t>& bytes) const {
    const Backwards allowed{.whole = options_.split != true, .split = options_.split != false};
    return {pipeline, costs_for(costs_, options_, pipeline), allowed, in_flight, bytes};
  }

  Site& add_site(Instance instance) {
    sites_.push_back(std::make_unique<Site>(std::move(instance), options_.seed));
    return *sites_.back();
  }

  Site* site_of(const Pipeline& pipeline) {
    for (const auto& site : sites_) {
      if (site->instance().pipeline() == pipeline) return site.get();
    }
    return nullptr;
  }

  const Site& best() const {
    const Site* best = sites_.front().get();
    for (const auto& site : sites_) {
      if (site->pool().empty()) continue;
      if (site->pool().best().makespan < best->pool().best().makespan) best = site.get();
    }
    return *best;
  }

  void put_best_first() {
    std::stable_sort(sites_.begin(), sites_.end(), [](const auto& a, const auto& b) {
      if (a->pool().empty() || b->pool().empty()) return b->pool().empty() && !a->pool().empty();
      return a->pool().best().makespan < b->pool().best().makespan;
    });
  }

  SearchResult result() const {
    const Site& site = best();
    const Candidate& candidate = site.pool().best();
    Nanoseconds bound = candidate.makespan + step_end(site.instance());
    for (const auto& other : sites_) {
      bound = std::min(bound, other->bound() + step_end(other->instance()));
    }
    SearchResult result{
        .schedule = schedule_of(site.instance(), candidate.order, "searched"),
        .makespan = 0,
        .bound = bound,
        .origin = candidate.origin,
    };
    assert(check(result.schedule).empty() && "every move keeps what an order needs");
    const Timeline timeline = simulate(lower(result.schedule), site.instance().costs());
    result.makespan = measure(timeline).makespan;
    return result;
  }

  // What every order has to do after its ops: all meet for the norm, then update.
  static Nanoseconds step_end(const Instance& instance) {
    const CostTable& costs = instance.costs();
    const std::vector<Stage>& stages = instance.pipeline().stages;
    std::vector<Nanoseconds> updates(index(instance.pipeline().actors), 0);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      updates[index(stages[i].actor)] += costs.stages[i].update;
    }
    return costs.global_norm + *std::max_element(updates.begin(), updates.end());
  }

  const CostTable& costs_;
  const SearchOptions& options_;
  std::vector<std::unique_ptr<Site>> sites_;
};

}  // namespace

SearchResult search(const CostTable& costs, const SearchOptions& options) {
  if (auto problems = faults(costs, options); !problems.empty()) throw Error(std::move(problems));
  return Searcher(costs, options).run();
}

}  // namespace penstock
