#include "linear_order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock {
namespace {

// A set of actors that is emptied in ascending order while it is being added to.
class ActorSet {
 public:
  explicit ActorSet(std::size_t actors) : words_((actors + 63) / 64, 0) {}

  void add(std::int32_t actor) {
    const std::size_t word = static_cast<std::size_t>(actor) / 64;
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
        done_(static_cast<std::size_t>(dependencies.results()), 0) {
    order_.taken.resize(schedule.order.size(), 0);
    std::size_t steps = 0;
    for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
      steps += schedule.order[actor].size();
      if (!schedule.order[actor].empty()) now_.add(static_cast<std::int32_t>(actor));
    }
    order_.actors.resize(steps);
  }

  LinearOrder run() {
    while (!now_.empty()) {
      while (!now_.empty()) visit(now_.take());
      std::swap(now_, later_);
    }
    order_.complete = written_ == order_.actors.size();
    order_.actors.resize(written_);
    return std::move(order_);
  }

 private:
  void visit(std::int32_t actor) {
    const std::vector<Step>& steps = schedule_.order[static_cast<std::size_t>(actor)];
    std::int32_t& taken = order_.taken[static_cast<std::size_t>(actor)];
    const std::int32_t end = taken + steps_together(steps, taken);
    for (std::int32_t i = taken; i < end; ++i) {
      const std::int32_t missing = first_missing(steps[static_cast<std::size_t>(i)].op);
      awaits_[static_cast<std::size_t>(actor)] = missing;
      if (missing >= 0) return;
    }
    for (; taken < end; ++taken) {
      order_.actors[written_++] = actor;
      publish(steps[static_cast<std::size_t>(taken)].op, actor);
    }
    if (static_cast<std::size_t>(taken) < steps.size()) later_.add(actor);
  }

  std::int32_t first_missing(const Op& op) const {
    std::int32_t missing = -1;
    dependencies_.visit_inputs(op, [&](const Op& input) {
      const std::int32_t result = dependencies_.result(input);
      if (done_[static_cast<std::size_t>(result)] == 0) missing = result;
    });
    return missing;
  }

  // An actor behind the one that runs gets its turn in this round, one before it in the next.
  void publish(const Op& op, std::int32_t actor) {
    const std::int32_t result = dependencies_.result(op);
    if (result < 0) return;
    done_[static_cast<std::size_t>(result)] = 1;
    const std::int32_t stage = dependencies_.receiver(op);
    if (stage < 0) return;
    const std::int32_t user = schedule_.pipeline.stages[static_cast<std::size_t>(stage)].actor;
    if (awaits_[static_cast<std::size_t>(user)] != result) return;
    awaits_[static_cast<std::size_t>(user)] = -1;
    (user > actor ? now_ : later_).add(user);
  }

  const Schedule& schedule_;
  const Dependencies& dependencies_;
  ActorSet now_;
  ActorSet later_;
  std::vector<std::int32_t> awaits_;  // by actor: the result that its next step lacks, -1: none
  std::vector<std::uint8_t> done_;    // by result
  LinearOrder order_;
  std::size_t written_ = 0;
};

}  // namespace

LinearOrder linear_order(const Schedule& schedule, const Dependencies& dependencies) {
  return Walk(schedule, dependencies).run();
}

}  // namespace penstock
