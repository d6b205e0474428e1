#include "linear_order.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "penstock/index.h"

namespace penstock {
namespace {

// A set of actors that is emptied in ascending order while it is being added to.
class ActorSet {
 public:
  explicit ActorSet(std::size_t actors) : words_((actors + 63) / 64, 0) {}

  void add(std::int32_t actor) {
    const std::size_t word = index(actor) / 64;
    words_[word] |= std::uint64_t{1} << (actor % 64);
    lowest_ = std::min(lowest_, word);
    ++size_;
  }
  bool empty() const { return size_ == 0; }

  // Removes and returns the lowest member. REQUIRES: !empty().
  std::int32_t take() {
    while (words_[lowest_] == 0) ++lowest_;
    std::uint64_t& members = words_[lowest_];
    const int bit = std::countr_zero(members);
    members &= members - 1;
    --size_;
    return static_cast<std::int32_t>(lowest_ * 64) + bit;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t lowest_ = 0;  // no member is in a lower word
  std::int32_t size_ = 0;
};

class Walk {
 public:
  Walk(const Schedule& schedule, const Dependencies& dependencies)
      : schedule_(schedule),
        dependencies_(dependencies),
        now_(schedule.order.size()),
        later_(schedule.order.size()),
        awaits_(schedule.order.size(), -1),
        done_(index(dependencies.results()), 0) {
    if (dependencies.has_queues()) {
      holds_.resize(schedule.order.size(), 0);
      queues_.resize(index(dependencies.units()));
    }
    order_.taken.resize(schedule.order.size(), 0);
    std::size_t steps = 0;
    for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
      steps += schedule.order[actor].size();
      if (!schedule.order[actor].empty()) now_.add(static_cast<std::int32_t>(actor));
    }
    order_.actors.reserve(steps);
    left_ = steps;
  }

  LinearOrder run() {
    while (!now_.empty()) {
      while (!now_.empty()) visit(now_.take());
      std::swap(now_, later_);
    }
    order_.complete = left_ == 0;
    return std::move(order_);
  }

 private:
  // What bounded queues say of a forward.
  struct Queued {
    bool started = false;
    std::int32_t waiter = -1;  // the actor that cannot go on before it has
  };

  void visit(std::int32_t actor) {
    const std::vector<Step>& steps = schedule_.order[index(actor)];
    const std::int32_t taken = order_.taken[index(actor)];
    const std::int32_t end = taken + steps_together(steps, taken);
    const bool has_started = !holds_.empty() && holds_[index(actor)] != 0;
    for (std::int32_t i = taken; i < end && !has_started; ++i) {
      const std::int32_t missing = missing_input(steps[index(i)].op);
      awaits_[index(actor)] = missing;
      if (missing >= 0) return;
    }
    if (!has_started) order_.actors.insert(order_.actors.end(), index(end - taken), actor);
    if (!holds_.empty() && !has_room(actor, taken, end, has_started)) return;
    take(actor, end);
  }

  // The steps of `actor` up to `end` are over.
  void take(std::int32_t actor, std::int32_t end) {
    const std::vector<Step>& steps = schedule_.order[index(actor)];
    std::int32_t& taken = order_.taken[index(actor)];
    left_ -= index(end - taken);
    for (; taken < end; ++taken) publish(steps[index(taken)].op, actor);
    if (index(taken) < steps.size()) later_.add(actor);
  }

  // Whether the results of the actor's steps [first, end), which have started, find room.
  bool has_room(std::int32_t actor, std::int32_t first, std::int32_t end, bool had_started) {
    const std::vector<Step>& steps = schedule_.order[index(actor)];
    for (std::int32_t i = first; i < end && !had_started; ++i) start(steps[index(i)].op, actor);
    for (std::int32_t i = first; i < end; ++i) {
      const std::optional<Op> room = dependencies_.room_for(steps[index(i)].op);
      if (!room) continue;
      Queued& queued = queues_[index(dependencies_.unit(*room))];
      if (queued.started) continue;
      queued.waiter = actor;
      holds_[index(actor)] = 1;
      return false;
    }
    if (had_started) order_.actors.push_back(~actor);
    holds_[index(actor)] = 0;
    return true;
  }

  void start(const Op& op, std::int32_t actor) {
    if (op.kind != OpKind::Forward) return;
    Queued& queued = queues_[index(dependencies_.unit(op))];
    queued.started = true;
    if (queued.waiter >= 0 && queued.waiter != actor) wake(queued.waiter, actor);
  }

  // An actor behind the one that runs gets its turn in this round, one before it in the next.
  void wake(std::int32_t actor, std::int32_t running) {
    (actor > running ? now_ : later_).add(actor);
  }

  // One is enough: of what a checked op waits for, only what another actor gives can be missing,
  // and that is one result.
  std::int32_t missing_input(const Op& op) const {
    std::int32_t missing = -1;
    dependencies_.visit_inputs(op, [&](const Op& input) {
      const std::int32_t result = dependencies_.result(input);
      if (result >= 0 && done_[index(result)] == 0) missing = result;
    });
    return missing;
  }

  void publish(const Op& op, std::int32_t actor) {
    const std::int32_t result = dependencies_.result(op);
    if (result < 0) return;
    done_[index(result)] = 1;
    const std::int32_t stage = dependencies_.receiver(op);
    if (stage < 0) return;
    const std::int32_t user = schedule_.pipeline.stages[index(stage)].actor;
    if (awaits_[index(user)] != result) return;
    awaits_[index(user)] = -1;
    wake(user, actor);
  }

  const Schedule& schedule_;
  const Dependencies& dependencies_;
  ActorSet now_;
  ActorSet later_;
  std::vector<std::int32_t> awaits_;  // by actor: the result that its next step lacks, -1: none
  std::vector<std::uint8_t> done_;    // by result
  std::vector<std::uint8_t> holds_;   // with queues, by actor: its step waits for room
  std::vector<Queued> queues_;        // with queues, by unit
  LinearOrder order_;
  std::size_t left_ = 0;  // steps
};

}  // namespace

LinearOrder linear_order(const Schedule& schedule, const Dependencies& dependencies) {
  return Walk(schedule, dependencies).run();
}

}  // namespace penstock
