#include "construct.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "list_schedule.h"
#include "rules.h"

namespace penstock {
namespace {

constexpr const char* kOrigin = "list scheduling";

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// The mean time of an op: what patience is measured in.
Nanoseconds mean_time(const Instance& instance) {
  Nanoseconds sum = 0;
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    sum += instance.duration(kNodesPerUnit * unit);
    sum += instance.may_be_whole(unit) ? instance.whole(unit)
                                       : instance.duration(kNodesPerUnit * unit + 1) +
                                             instance.duration(kNodesPerUnit * unit + 2);
  }
  return sum / std::max(1, 2 * instance.units());
}

class Constructor {
 public:
  Constructor(const Instance& instance, Budget& budget, Pool& pool)
      : instance_(instance), budget_(budget), pool_(pool), times_(instance) {}

  void run() {
    const std::int64_t keep = budget_.left() * 3 / 4;
    try_all(keep);
    if (!best_) return;
    climb(budget_.left() / 10 * 9);
  }

 private:
  // The makespan; nothing when the rule leads nowhere.
  std::optional<Nanoseconds> price(const Rule& rule) {
    if (!budget_.spend()) return std::nullopt;
    std::optional<Order> order = list_schedule(instance_, rule);
    if (!order || !times_.sweep(*order)) return std::nullopt;
    pool_.add({std::move(*order), times_.makespan(), kOrigin});
    return times_.makespan();
  }

  void try_rule(const Rule& rule) {
    const std::optional<Nanoseconds> makespan = price(rule);
    if (!makespan || (best_ && *makespan >= least_)) return;
    best_ = rule;
    least_ = *makespan;
  }

  void try_all(std::int64_t keep) {
    const Nanoseconds mean = mean_time(instance_);
    const double p = instance_.actors();
    for (const Preference& preference : preferences(instance_)) {
      Rule rule = rule_of(instance_, preference);
      for (const Nanoseconds patience : {Nanoseconds{0}, mean / 2, mean}) {
        rule.patience = patience;
        rule.most_parts.clear();
        if (budget_.left() <= keep) return;
        try_rule(rule);
        for (const double step : {1.0, 2.0, 0.0, 0.5}) {
          for (const double first : {1.0, 2.0, (p + 1) / 2, p, 2 * p}) {
            if (budget_.left() <= keep) return;
            rule.most_parts = warm_up(instance_, first, step);
            try_rule(rule);
          }
        }
      }
    }
  }

  // One actor's warm-up at a time, longer or shorter, as long as something gets better.
  void climb(std::int64_t keep) {
    if (best_->most_parts.empty()) best_->most_parts = held_by_best();
    bool better = true;
    while (better) {
      better = false;
      for (std::int32_t actor = 0; actor < instance_.actors(); ++actor) {
        for (const std::int64_t by : {1, -1, 2, -2}) {
          if (budget_.left() <= keep) return;
          Rule rule = *best_;
          rule.most_parts[index(actor)] += by;
          const Nanoseconds before = least_;
          try_rule(rule);
          better |= least_ < before;
        }
      }
    }
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
  std::optional<Rule> best_;
  Nanoseconds least_ = 0;
};

}  // namespace

void construct(const Instance& instance, Budget& budget, Pool& pool) {
  Constructor(instance, budget, pool).run();
}

}  // namespace penstock
