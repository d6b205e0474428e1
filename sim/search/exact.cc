#include "exact.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "ancestors.h"
#include "integer_programme.h"
#include "penstock/index.h"
#include "sweep_times.h"
#include "windows.h"

namespace penstock {
namespace {

using Term = IntegerProgramme::Term;

// Times in the programme run to this: large enough to tell orders apart, small enough that a
// solver's tolerance (one in a million, times the largest coefficient) stays below kTolerance.
constexpr double kLongest = 1e4;
constexpr double kTolerance = 0.02;

// Every makespan is a multiple of it.
Nanoseconds grain_of(const Instance& instance) {
  Nanoseconds grain = instance.costs().overlap_fb.value_or(0);
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    if (instance.may_be_whole(unit)) grain = std::gcd(grain, instance.whole(unit));
    for (std::int32_t node = kNodesPerUnit * unit; node < kNodesPerUnit * (unit + 1); ++node) {
      if (instance.duration(node) > 0) grain = std::gcd(grain, instance.duration(node));
      grain = std::gcd(grain, instance.node(node).latency);
      grain = std::gcd(grain, instance.node(node).occupancy);
    }
  }
  return std::max<Nanoseconds>(grain, 1);
}

class Programme {
 public:
  Programme(const Instance& instance, Windows windows, double longest, double scale)
      : instance_(instance),
        windows_(std::move(windows)),
        scale_(scale),
        ancestors_(windows_.relaxed.duration.size()),
        start_(windows_.relaxed.duration.size(), kNone) {
    makespan_ = programme_.add_continuous(0, longest);
    for (const std::int32_t node : windows_.relaxed.sequence) add_node(node, longest);
    for (const auto& [a, b] : windows_.open) add_choice(a, b, longest);
    for (std::int32_t actor = 0; actor < instance_.actors(); ++actor) add_limits(actor);
  }

  IntegerProgramme::Answer solve(std::int32_t nodes) const {
    return programme_.minimise(makespan_, nodes);
  }

  // When each node starts, in parts of the programme's time small enough to tell nodes apart.
  std::vector<std::int64_t> starts_of(const std::vector<double>& solution) const {
    std::vector<std::int64_t> starts(start_.size(), 0);
    for (const std::int32_t node : windows_.relaxed.sequence) {
      starts[index(node)] = std::llround(solution[index(start_[index(node)])] * 1e4);
    }
    return starts;
  }

 private:
  double scaled(Nanoseconds time) const { return static_cast<double>(time) / scale_; }
  double duration(std::int32_t node) const {
    return scaled(windows_.relaxed.duration[index(node)]);
  }
  double head(std::int32_t node) const { return scaled(windows_.heads[index(node)]); }
  // When the node must have ended.
  double due(std::int32_t node, double longest) const {
    return longest - scaled(windows_.tails[index(node)]);
  }

  void add_node(std::int32_t node, double longest) {
    const double last = std::max(head(node), due(node, longest) - duration(node));
    const std::int32_t start = programme_.add_continuous(head(node), last);
    start_[index(node)] = start;
    programme_.add_row({{makespan_, 1}, {start, -1}},
                       duration(node) + scaled(windows_.tails[index(node)]));
    for (const Precedence& precedence : windows_.relaxed.inputs[index(node)]) {
      ancestors_.add(node, precedence.input);
      programme_.add_row({{start, 1}, {start_[index(precedence.input)], -1}},
                         duration(precedence.input) + scaled(precedence.lag));
    }
  }

  // 1: a comes first.
  void add_choice(std::int32_t a, std::int32_t b, double longest) {
    const std::int32_t a_first = programme_.add_binary();
    const std::int32_t start_a = start_[index(a)];
    const std::int32_t start_b = start_[index(b)];
    const double slack_a = std::max(0.0, due(a, longest) - head(b));
    const double slack_b = std::max(0.0, due(b, longest) - head(a));
    programme_.add_row({{start_b, 1}, {start_a, -1}, {a_first, -slack_a}}, duration(a) - slack_a);
    programme_.add_row({{start_a, 1}, {start_b, -1}, {a_first, slack_b}}, duration(b));
    choices_.push_back({a, b, a_first});
  }

  // Whether `first` comes before `second`: a constant, or a choice's variable.
  struct Precedes {
    double constant = 0;
    std::int32_t variable = kNone;
    double factor = 0;
  };
  Precedes precedes(std::int32_t first, std::int32_t second) const {
    if (ancestors_.has(second, first)) return {.constant = 1};
    if (ancestors_.has(first, second)) return {};
    for (const Choice& choice : choices_) {
      if (choice.a == first && choice.b == second) return {0, choice.a_first, 1};
      if (choice.a == second && choice.b == first) return {1, choice.a_first, -1};
    }
    return {};
  }

  void add_limits(std::int32_t actor) {
    std::vector<std::int32_t> units;
    Room all;
    for (std::int32_t unit = 0; unit < instance_.units(); ++unit) {
      if (instance_.node(kNodesPerUnit * unit).actor != actor) continue;
      units.push_back(unit);
      all += instance_.room(unit);
    }
    const Room& limit = instance_.limit(actor);
    for (const std::int32_t unit : units) {
      if (all.parts > limit.parts) {
        add_limit(units, unit, limit.parts, [](const Room& room) { return room.parts; });
      }
      if (all.bytes > limit.bytes) {
        add_limit(units, unit, limit.bytes, [](const Room& room) { return room.bytes; });
      }
    }
  }

  // What is open when the unit opens is within the limit, itself included: as shares of the limit.
  template <class Measure>
  void add_limit(const std::vector<std::int32_t>& units, std::int32_t unit, std::int64_t limit,
                 Measure measure) {
    const std::int32_t opening = kNodesPerUnit * unit;
    const auto share = [&](const Room& room) {
      return static_cast<double>(measure(room)) / static_cast<double>(limit);
    };
    std::vector<Term> terms;
    double held = share(instance_.room(unit));
    const auto add = [&](std::int32_t node, double factor) {
      const Precedes before = precedes(node, opening);
      held += factor * before.constant;
      if (before.variable != kNone) terms.push_back({before.variable, -factor * before.factor});
    };
    for (const std::int32_t other : units) {
      if (other == unit) continue;
      const std::int32_t first = kNodesPerUnit * other;
      const bool has_weight = windows_.relaxed.duration[index(first + 2)] >= 0;
      const double all = share(instance_.room(other));
      const double early = has_weight ? share(instance_.freed_early(other)) : 0;
      add(first, all);
      if (early > 0) add(first + 1, -early);
      add(has_weight ? first + 2 : first + 1, early - all);
    }
    programme_.add_row(std::move(terms), held - 1 - 1e-7);
  }

  struct Choice {
    std::int32_t a = kNone;
    std::int32_t b = kNone;
    std::int32_t a_first = kNone;
  };

  const Instance& instance_;
  const Windows windows_;
  const double scale_;  // nanoseconds per unit of the programme's time
  Ancestors ancestors_;
  IntegerProgramme programme_;
  std::int32_t makespan_ = kNone;
  std::vector<std::int32_t> start_;  // by node: its variable
  std::vector<Choice> choices_;
};

// Each actor's nodes by their start times.
template <class Time>
Order order_by(const Instance& instance, const Relaxed& relaxed, const std::vector<Time>& starts) {
  Order order{.items = std::vector<std::vector<Item>>(index(instance.actors())),
              .split = std::vector<char>(index(instance.units()), 0)};
  std::vector<std::int32_t> nodes = relaxed.sequence;
  std::stable_sort(nodes.begin(), nodes.end(), [&](std::int32_t a, std::int32_t b) {
    return starts[index(a)] < starts[index(b)];
  });
  for (const std::int32_t node : nodes) {
    order.items[index(instance.node(node).actor)].push_back({.first = node});
    if (kind_of(node) == OpKind::BackwardWeight) order.split[index(unit_of(node))] = 1;
  }
  return order;
}

// Inputs of the actor's own come first.
bool is_ordered(const Instance& instance, const Order& order) {
  std::vector<char> done(index(instance.nodes()), 0);
  for (const std::vector<Item>& items : order.items) {
    for (const Item& item : items) {
      for (const std::int32_t own : instance.node(item.first).own) {
        if (own != kNone && done[index(own)] == 0) return false;
      }
      done[index(item.first)] = 1;
    }
  }
  return true;
}

std::optional<Order> if_legal(const Instance& instance, Order order) {
  if (!is_ordered(instance, order) || !fits(instance, order)) return std::nullopt;
  return order;
}

// The next makespan that there can be.
Nanoseconds above(Nanoseconds makespan, Nanoseconds grain) {
  return (makespan / grain + 1) * grain;
}

// Nothing is left to choose.
Exact settled(const Instance& instance, const Windows& windows, Nanoseconds bound) {
  for (const std::int32_t node : windows.relaxed.sequence) {
    bound = std::max(bound, windows.heads[index(node)] + windows.relaxed.duration[index(node)]);
  }
  return {bound, if_legal(instance, order_by(instance, windows.relaxed, windows.heads))};
}

}  // namespace

Exact solve_exactly(const Instance& instance, const Relaxed& relaxed, Nanoseconds bound,
                    Nanoseconds reached, std::int32_t nodes) {
  constexpr int kRounds = 30;
  constexpr int kTries = 2000;
  const double scale = static_cast<double>(reached) / kLongest;
  const Nanoseconds grain = grain_of(instance);
  // Faster by at least what the solver can tell, and by a grain, for nothing lies between.
  const auto step = std::max(grain, static_cast<Nanoseconds>(std::ceil(4 * kTolerance * scale)));
  const Nanoseconds wanted = reached - step;
  Windows narrowed = windows(relaxed, wanted, kRounds);
  if (narrowed.possible && narrowed.open.size() <= kMostOpen) {
    narrowed = shaved(std::move(narrowed), wanted, kTries);
  }
  if (!narrowed.possible) return {std::max(bound, above(wanted, grain)), std::nullopt};
  if (narrowed.open.empty()) return settled(instance, narrowed, bound);
  if (narrowed.open.size() > kMostOpen) return {bound, std::nullopt};
  const double longest = static_cast<double>(wanted) / scale + kTolerance;
  const Programme programme(instance, narrowed, longest, scale);
  const IntegerProgramme::Answer answer = programme.solve(nodes);
  if (answer.infeasible) return {std::max(bound, above(wanted, grain)), std::nullopt};
  Exact exact{.bound = bound, .order = std::nullopt};
  if (answer.bound && std::isfinite(*answer.bound)) {
    const double proven = (*answer.bound - kTolerance) * scale / static_cast<double>(grain);
    const auto grains = static_cast<Nanoseconds>(std::ceil(std::max(0.0, proven)));
    exact.bound = std::max(bound, std::min(grains * grain, reached));
  }
  if (answer.solution.empty()) return exact;
  exact.order = if_legal(
      instance, order_by(instance, narrowed.relaxed, programme.starts_of(answer.solution)));
  return exact;
}

}  // namespace penstock
