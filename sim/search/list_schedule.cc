#include "list_schedule.h"

#include <algorithm>
#include <limits>

#include "penstock/index.h"
#include "under_way.h"

namespace penstock {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

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
    waits_.resize(index(instance.actors()));
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

  // The actor that can start something first, and what it starts. A forward that was allowed may
  // no longer be once others have opened theirs, so the best is asked again.
  Choice next() {
    while (true) {
      std::int32_t best = 0;
      for (std::int32_t actor = 0; actor < instance_.actors(); ++actor) {
        if (changed_[index(actor)] != 0) choice_[index(actor)] = choice_of(actor);
        changed_[index(actor)] = 0;
        if (choice_[index(actor)].first < choice_[index(best)].first) best = actor;
      }
      const Choice& choice = choice_[index(best)];
      if (choice.node == kNone || is_allowed(choice.node)) return choice;
      changed_[index(best)] = 1;
    }
  }

  bool is_allowed(std::int32_t node) const {
    return !opens(node) || under_way_.may_open(unit_of(node));
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

  // Whether every microbatch under way can still end is asked about the best candidate alone.
  Choice choice_of(std::int32_t actor) {
    const std::vector<std::int32_t>& candidates = candidates_[index(actor)];
    barred_.assign(candidates.size(), 0);
    waits_[index(actor)] = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (opens(candidates[i]) && !under_way_.has_room(unit_of(candidates[i]))) bar(actor, i);
    }
    while (true) {
      const Choice choice = best_of(candidates);
      if (choice.node == kNone || is_allowed(choice.node)) return choice;
      bar_alike(actor, choice);
    }
  }

  void bar(std::int32_t actor, std::size_t place) {
    barred_[place] = 1;
    waits_[index(actor)] = 1;
  }

  // What holds for one microbatch that has not begun holds for all of them.
  void bar_alike(std::int32_t actor, const Choice& choice) {
    bar(actor, choice.place);
    const Op& op = instance_.forward_of(unit_of(choice.node));
    if (under_way_.has_begun(op.microbatch)) return;
    const std::vector<std::int32_t>& candidates = candidates_[index(actor)];
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Op& other = instance_.forward_of(unit_of(candidates[i]));
      const bool is_alike = opens(candidates[i]) && other.stage == op.stage &&
                            !under_way_.has_begun(other.microbatch);
      if (is_alike) bar(actor, i);
    }
  }

  Choice best_of(const std::vector<std::int32_t>& candidates) const {
    Nanoseconds first = kNever;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (barred_[i] == 0) first = std::min(first, start_of(candidates[i]));
    }
    Choice best;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (barred_[i] != 0) continue;
      const Nanoseconds start = start_of(candidates[i]);
      if (start - first > rule_.patience) continue;
      if (best.node == kNone || better(candidates[i], best.node)) {
        best = {candidates[i], i, start, first};
      }
    }
    if (best.node == kNone || best.start == first) return best;
    const Choice meanwhile = before(candidates, best);
    return meanwhile.node == kNone ? best : meanwhile;
  }

  // What ends before the best one starts, and leaves it its room, costs it nothing.
  Choice before(const std::vector<std::int32_t>& candidates, const Choice& best) const {
    Choice choice;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (barred_[i] != 0) continue;
      const Nanoseconds start = start_of(candidates[i]);
      if (start + duration(candidates[i]) > best.start || start >= best.start) continue;
      if (opens(candidates[i]) && opens(best.node) &&
          !under_way_.has_room_for(unit_of(candidates[i]), unit_of(best.node))) {
        continue;
      }
      if (choice.node == kNone || better(candidates[i], choice.node)) {
        choice = {candidates[i], i, start, best.first};
      }
    }
    return choice;
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
    under_way_.free(unit_of(choice.node), freed_by(instance_, order_, choice.node));
    if (closes(order_, choice.node)) under_way_.close(unit_of(choice.node));
    if (under_way_.concerns_all() && !opens(choice.node)) wake();
    for (const std::int32_t user : users_[index(choice.node)]) arrive(user, end);
    if (here.consumer == kNone) return;
    Nanoseconds& free_at = channel_[index(here.channel)];
    const Nanoseconds sent = std::max(end, free_at);
    free_at = sent + here.occupancy;
    arrive(here.consumer, sent + here.occupancy + here.latency);
  }

  // Room on one actor may let a microbatch begin on another. Opening never does.
  void wake() {
    for (std::size_t actor = 0; actor < waits_.size(); ++actor) changed_[actor] |= waits_[actor];
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
  std::vector<char> waits_;                            // by actor: a forward of its may not open
  std::vector<char> barred_;                           // of one actor's candidates
  std::int64_t left_ = 0;
};

}  // namespace

std::optional<Order> list_schedule(const Instance& instance, const Rule& rule) {
  return ListScheduler(instance, rule).run();
}

}  // namespace penstock
