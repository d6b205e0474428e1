#include "construct.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "list_schedule.h"
#include "penstock/index.h"
#include "rules.h"

namespace penstock {
namespace {

constexpr const char* kOrigin = "list scheduling";

// The mean time of an op: what patience is measured in.
Nanoseconds mean_time(const Instance& instance) {
  Nanoseconds sum = 0;
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    sum += instance.duration(kNodesPerUnit * unit) + instance.backward(unit);
  }
  return sum / std::max(1, 2 * instance.units());
}

// A rule, and what it is made of.
struct Recipe {
  Preference preference;
  std::vector<std::int64_t> turns;  // by microbatch
  std::vector<std::int64_t> most_parts = {};
  Nanoseconds patience = 0;
};

class Constructor {
 public:
  Constructor(const Instance& instance, Budget& budget, Pool& pool)
      : instance_(instance), budget_(budget), pool_(pool), times_(instance) {}

  void run() {
    try_all(budget_.left() / 2);
    if (best_) climb();
  }

 private:
  // Keeps the best. False when it is not better.
  bool try_recipe(const Recipe& recipe) {
    if (!budget_.spend(kBuilding)) return false;
    Rule rule = rule_of(instance_, recipe.preference, recipe.turns);
    rule.most_parts = recipe.most_parts;
    rule.patience = recipe.patience;
    std::optional<Order> order = list_schedule(instance_, rule);
    if (!order || !times_.sweep(*order)) return false;
    const Nanoseconds makespan = times_.makespan();
    pool_.add({std::move(*order), makespan, kOrigin});
    if (best_ && makespan >= least_) return false;
    best_ = recipe;
    least_ = makespan;
    return true;
  }

  void try_all(std::int64_t keep) {
    const Nanoseconds mean = mean_time(instance_);
    const std::vector<Preference> all = preferences(instance_);
    for (const Nanoseconds patience : {Nanoseconds{0}, mean, mean / 2, 2 * mean, 4 * mean}) {
      for (const Turns turns : kinds_of_turns(instance_)) {
        for (const Preference& preference : all) {
          try_warm_ups({preference, turns_of(instance_, turns), {}, patience}, keep);
        }
      }
    }
  }

  void try_warm_ups(Recipe recipe, std::int64_t keep) {
    const double p = instance_.actors();
    if (budget_.left() <= keep) return;
    try_recipe(recipe);
    for (const double step : {1.0, 2.0, 0.0, 0.5}) {
      for (const double first : {1.0, 2.0, (p + 1) / 2, p, 2 * p}) {
        if (budget_.left() <= keep) return;
        recipe.most_parts = warm_up(instance_, first, step);
        try_recipe(recipe);
      }
    }
  }

  // As long as something gets better: one actor's warm-up longer or shorter, two microbatches that
  // differ in each other's turn.
  void climb() {
    if (best_->most_parts.empty()) best_->most_parts = held_by_best();
    bool better = true;
    while (better && budget_.left() > 0) {
      better = climb_warm_ups();
      if (!instance_.microbatches_are_alike()) better |= climb_turns();
    }
  }

  bool climb_warm_ups() {
    bool better = false;
    for (std::int32_t actor = 0; actor < instance_.actors(); ++actor) {
      for (const std::int64_t by : {1, -1, 2, -2}) {
        Recipe recipe = *best_;
        recipe.most_parts[index(actor)] += by;
        better |= try_recipe(recipe);
      }
    }
    return better;
  }

  bool climb_turns() {
    bool better = false;
    const std::vector<Microbatch>& microbatches = instance_.pipeline().microbatches;
    for (std::size_t a = 0; a < microbatches.size(); ++a) {
      for (std::size_t b = a + 1; b < microbatches.size(); ++b) {
        if (microbatches[a].route != microbatches[b].route) continue;
        Recipe recipe = *best_;
        std::swap(recipe.turns[a], recipe.turns[b]);
        better |= try_recipe(recipe);
      }
    }
    return better;
  }

  std::vector<std::int64_t> held_by_best() {
    std::vector<std::int64_t> parts;
    for (std::int32_t actor = 0; actor < instance_.actors(); ++actor) {
      parts.push_back(peak_room(instance_, pool_.best().order, actor).parts);
    }
    return parts;
  }

  const Instance& instance_;
  Budget& budget_;
  Pool& pool_;
  SweepTimes times_;
  std::optional<Recipe> best_;
  Nanoseconds least_ = 0;
};

}  // namespace

void construct(const Instance& instance, Budget& budget, Pool& pool) {
  Constructor(instance, budget, pool).run();
}

std::optional<Candidate> sample(const Instance& instance, Budget& budget, Random& random) {
  const auto any_of = [&](const auto& list) {
    return list[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(list.size())))];
  };
  std::vector<std::int64_t> turns = turns_of(instance, any_of(kinds_of_turns(instance)));
  Rule rule = rule_of(instance, any_of(preferences(instance)), turns);
  rule.patience = random.below(9) * mean_time(instance) / 2;
  const std::int64_t one = instance.parts_per_microbatch();
  for (std::int32_t actor = 0; actor < instance.actors(); ++actor) {
    const std::int64_t most = std::min(instance.limit(actor).parts, 2 * one * instance.actors());
    rule.most_parts.push_back(one + random.below(most - one + 1));
  }
  if (!budget.spend(kBuilding)) return std::nullopt;
  std::optional<Order> order = list_schedule(instance, rule);
  SweepTimes times(instance);
  if (!order || !times.sweep(*order)) return std::nullopt;
  return Candidate{std::move(*order), times.makespan(), kOrigin};
}

}  // namespace penstock
