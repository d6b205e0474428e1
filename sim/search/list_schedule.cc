#include "list_schedule.h"

#include <algorithm>
#include <limits>

#include "under_way.h"

namespace penstock {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

class ListScheduler {
 public:
  ListScheduler(const Instance& instance, const Rule& rule)
      : instance_(instance), rule_(rule), under_way_(instance, rule.most_parts) {
    order_.split = rule.split;
    order_.items.resize(index(instance.actors()));
    lane_.resize(index(instance.actors()));
    candidates_.resize(index(instance.actors()));
    choice_.resize(index(instance.actors()));
    changed_.assign(index(instance.actors()), 1);
    channel_.resize(index(instance.channels()));
    ready_at_.resize(index(instance.nodes()));
    missing_.resize(index(instance.nodes()));
    users_.resize(index(instance.nodes()));
    for (std::int32_t node = 0; node < instance.nodes(); ++node) {
      if (exists(node)) add(node);
    }
  }

  std::optional<Order> run() {
    for (; left_ > 0; --left_) {
      const Choice choice = next();
      if (choice.node == kNone) return std::nullopt;
      take(choice);
    }
    return std::move(order_);
  }

 private:
  struct Choice {
    std::int32_t node = kNone;
    std::size_t place = 0;  // among the actor's candidates
    Nanoseconds start = kNever;
    Nanoseconds first = kNever;  // when the actor could start anything at all
  };

  bool exists(std::int32_t node) const {
    return kind_of(node) != OpKind::BackwardWeight || rule_.split[index(unit_of(node))] != 0;
  }

  void add(std::int32_t node) {
    ++left_;
    const Node& here = instance_.node(node);
    missing_[index(node)] = here.input == kNone ? 0 : 1;
    for (const std::int32_t own : here.own) {
      if (own == kNone) continue;
      ++missing_[index(node)];
      users_[index(own)].push_back(node);
    }
    if (missing_[index(node)] == 0) candidates_[index(here.actor)].push_back(node);
  }

  // The actor that can start something first, and what it starts.
  Choice next() {
    Choice best;
    for (std::int32_t actor = 0; actor < instance_.actors(); ++actor) {
      if (changed_[index(actor)] != 0) choice_[index(actor)] = choice_of(actor);
      changed_[index(actor)] = 0;
      if (choice_[index(actor)].first < best.first) best = choice_[index(actor)];
    }
    return best;
  }

  Nanoseconds start_of(std::int32_t node) const {
    return std::max(lane_[index(instance_.node(node).actor)], ready_at_[index(node)]);
  }
  Nanoseconds duration(std::int32_t node) const { return duration_of(instance_, order_, node); }
  bool better(std::int32_t a, std::int32_t b) const {
    if (rule_.key[index(a)] != rule_.key[index(b)])
      return rule_.key[index(a)] < rule_.key[index(b)];
    return a < b;
  }

  Choice choice_of(std::int32_t actor) {
    const std::vector<std::int32_t>& candidates = candidates_[index(actor)];
    allowed_.clear();
    Nanoseconds first = kNever;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Nanoseconds start = start_of(candidates[i]);
      if (start >= first && start - first > rule_.patience) continue;
      if (opens(candidates[i]) && !under_way_.may_open(unit_of(candidates[i]))) continue;
      allowed_.push_back(i);
      first = std::min(first, start);
    }
    return best_of(candidates, first);
  }

  Choice best_of(const std::vector<std::int32_t>& candidates, Nanoseconds first) const {
    Choice best;
    for (const std::size_t i : allowed_) {
      const Nanoseconds start = start_of(candidates[i]);
      if (start - first > rule_.patience) continue;
      if (best.node == kNone || better(candidates[i], best.node))
        best = {candidates[i], i, start, first};
    }
    // What ends before the best one starts costs it nothing.
    Choice meanwhile;
    for (const std::size_t i : allowed_) {
      const Nanoseconds start = start_of(candidates[i]);
      if (start + duration(candidates[i]) > best.start || start >= best.start) continue;
      if (meanwhile.node == kNone || better(candidates[i], meanwhile.node)) {
        meanwhile = {candidates[i], i, start, first};
      }
    }
    return meanwhile.node == kNone ? best : meanwhile;
  }

  void take(const Choice& choice) {
    const Node& here = instance_.node(choice.node);
    std::vector<std::int32_t>& candidates = candidates_[index(here.actor)];
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(choice.place));
    order_.items[index(here.actor)].push_back({.first = choice.node});
    const Nanoseconds end = choice.start + duration(choice.node);
    lane_[index(here.actor)] = end;
    changed_[index(here.actor)] = 1;
    if (opens(choice.node)) under_way_.open(unit_of(choice.node));
    if (closes(order_, choice.node)) under_way_.close(unit_of(choice.node));
    if (under_way_.concerns_all()) std::fill(changed_.begin(), changed_.end(), 1);
    for (const std::int32_t user : users_[index(choice.node)]) arrive(user, end);
    if (here.consumer == kNone) return;
    Nanoseconds& free_at = channel_[index(here.channel)];
    const Nanoseconds sent = here.occupancy > 0 ? std::max(end, free_at) : end;
    free_at = sent + here.occupancy;
    arrive(here.consumer, sent + here.occupancy + here.latency);
  }

  void arrive(std::int32_t node, Nanoseconds at) {
    ready_at_[index(node)] = std::max(ready_at_[index(node)], at);
    if (--missing_[index(node)] > 0) return;
    candidates_[index(instance_.node(node).actor)].push_back(node);
    changed_[index(instance_.node(node).actor)] = 1;
  }

  const Instance& instance_;
  const Rule& rule_;
  UnderWay under_way_;
  Order order_;
  std::vector<Nanoseconds> lane_;                      // by actor
  std::vector<Nanoseconds> channel_;                   // when it is free
  std::vector<Nanoseconds> ready_at_;                  // by node
  std::vector<std::int32_t> missing_;                  // by node: inputs that are not there
  std::vector<std::vector<std::int32_t>> users_;       // by node: on its own actor
  std::vector<std::vector<std::int32_t>> candidates_;  // by actor: nodes with all inputs
  std::vector<Choice> choice_;                         // by actor
  std::vector<char> changed_;                          // by actor: its choice is out of date
  std::vector<std::size_t> allowed_;                   // of one actor's candidates
  std::int64_t left_ = 0;
};

}  // namespace

std::optional<Order> list_schedule(const Instance& instance, const Rule& rule) {
  return ListScheduler(instance, rule).run();
}

}  // namespace penstock
