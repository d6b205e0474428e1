#include "zb_greedy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace penstock {
namespace {

using enum OpKind;

struct Lane {
  std::int32_t forwards = 0;
  std::int32_t inputs = 0;
  std::int32_t weights = 0;
  Nanoseconds time = 0;
  Nanoseconds idle = 0;  // since the first op
  std::int64_t held = 0;
  std::vector<Nanoseconds> forward_ends;
  std::vector<Nanoseconds> input_ends;

  bool has_weights() const { return weights < inputs; }
};

class Greedy {
 public:
  Greedy(const ZbPrices& prices, const ZbMemory& memory, const ZbChoices& choices)
      : prices_(prices),
        memory_(memory),
        choices_(choices),
        last_(prices.actors() - 1),
        lanes_(static_cast<std::size_t>(prices.actors())),
        order_(lanes_.size()) {
    for (std::vector<Step>& order : order_) {
      order.reserve(3 * static_cast<std::size_t>(prices.microbatches()));
    }
  }

  std::vector<std::vector<Step>> run() {
    warm_up();
    for (std::int32_t round = 1; round < prices_.microbatches(); ++round) {
      put_forwards();
      put_inputs();
    }
    for (std::int32_t actor = 0; actor <= last_; ++actor) {
      while (lane(actor).has_weights()) put(BackwardWeight, actor);
    }
    return std::move(order_);
  }

 private:
  Lane& lane(std::int32_t actor) { return lanes_[static_cast<std::size_t>(actor)]; }

  // When the input of the actor's next op of that kind is there.
  Nanoseconds arrival(OpKind kind, std::int32_t actor) {
    const Lane& here = lane(actor);
    if (kind == Forward && actor > 0) {
      const auto& ends = lane(actor - 1).forward_ends;
      return ends[static_cast<std::size_t>(here.forwards)] + prices_.hop(actor - 1, here.forwards);
    }
    if (kind == BackwardInput && actor < last_) {
      const auto& ends = lane(actor + 1).input_ends;
      return ends[static_cast<std::size_t>(here.inputs)] + prices_.hop(actor, here.inputs);
    }
    return 0;
  }

  void put(OpKind kind, std::int32_t actor) {
    Lane& here = lane(actor);
    const Nanoseconds start = std::max(here.time, arrival(kind, actor));
    if (here.forwards > 0) here.idle += start - here.time;
    longest_idle_ = std::max(longest_idle_, here.idle);
    std::int32_t& count = kind == Forward         ? here.forwards
                          : kind == BackwardInput ? here.inputs
                                                  : here.weights;
    order_[static_cast<std::size_t>(actor)].push_back({{kind, actor, count, 0}});
    here.time = start + prices_.of(kind, actor, count);
    here.held += memory_.change(kind);
    ++count;
    if (kind == Forward) here.forward_ends.push_back(here.time);
    if (kind == BackwardInput) here.input_ends.push_back(here.time);
  }

  // How much longer the actor may wait without being the one that waits longest.
  Nanoseconds slack(std::int32_t actor) { return longest_idle_ - lane(actor).idle; }

  void warm_up() {
    for (std::int32_t actor = 0; actor <= last_; ++actor) put(Forward, actor);
    const std::vector<std::int32_t> more = forwards_before_first_input();
    for (std::int32_t actor = 0; actor <= last_; ++actor) {
      for (std::int32_t i = 0; i < more[static_cast<std::size_t>(actor)]; ++i) put(Forward, actor);
    }
    for (std::int32_t actor = last_; actor >= 0; --actor) put(BackwardInput, actor);
  }

  // As many as fit into the time until microbatch 0 comes back, and into memory.
  std::vector<std::int32_t> forwards_before_first_input() {
    std::vector<std::int32_t> more(lanes_.size(), 0);
    Nanoseconds back = lane(last_).time + prices_.of(BackwardInput, last_, 0);
    for (std::int32_t actor = last_ - 1; actor >= 0; --actor) {
      const Nanoseconds input = back + prices_.hop(actor, 0);
      Nanoseconds time = lane(actor).time;
      std::int32_t count = 1;
      while (count < prices_.microbatches() &&
             (count + 1) * ZbMemory::kActivation <= memory_.most) {
        const Nanoseconds forward = prices_.of(Forward, actor, count);
        if (choices_.late_first_input ? time >= input : time + forward > input) break;
        time += forward;
        ++count;
      }
      more[static_cast<std::size_t>(actor)] = count - 1;
      back = std::max(time, input) + prices_.of(BackwardInput, actor, 0);
    }
    // An actor runs one forward less than the one before it, or it would wait for the last one.
    for (std::size_t actor = 1; actor < more.size(); ++actor) {
      more[actor] = std::min(more[actor], more[actor - 1]);
      const bool all = more[actor] + 1 == prices_.microbatches();
      if (!all && more[actor] > 0 && more[actor] == more[actor - 1]) --more[actor];
    }
    return more;
  }

  void put_forwards() {
    // Who is held back holds back those before it.
    std::int32_t first = 0;
    for (std::int32_t actor = last_; actor >= 0 && first == 0; --actor) {
      if (!wants_forward(actor)) first = actor + 1;
    }
    for (std::int32_t actor = first; actor <= last_; ++actor) {
      while (lane(actor).held + memory_.change(Forward) > memory_.most) {
        assert(lane(actor).has_weights() && "the warm-up leaves room for a forward per input");
        put(BackwardWeight, actor);
      }
      fill_gap(Forward, actor);
      put(Forward, actor);
    }
  }

  bool wants_forward(std::int32_t actor) {
    const Lane& here = lane(actor);
    if (here.forwards == prices_.microbatches()) return false;
    if (!choices_.hold_back || actor == last_) return true;
    const Lane& next = lane(actor + 1);
    if (here.forwards < next.forwards + 2) return true;
    const Nanoseconds input = next.time + prices_.of(Forward, actor + 1, next.forwards) +
                              prices_.of(BackwardInput, actor + 1, next.inputs) +
                              prices_.hop(actor, next.inputs);
    if (here.time >= input) return false;
    const Nanoseconds forward = prices_.of(Forward, actor, here.forwards) + time_for_room(actor);
    return here.time + forward <= input || input - here.time > slack(actor);
  }

  // The weight gradients that make room for one more forward.
  Nanoseconds time_for_room(std::int32_t actor) {
    const Lane& here = lane(actor);
    std::int64_t held = here.held + memory_.change(Forward);
    Nanoseconds time = 0;
    for (std::int32_t w = here.weights; held > memory_.most && w < here.inputs; ++w) {
      time += prices_.of(BackwardWeight, actor, w);
      held += memory_.change(BackwardWeight);
    }
    return time;
  }

  void put_inputs() {
    for (std::int32_t actor = last_; actor >= 0; --actor) {
      fill_gap(BackwardInput, actor);
      // Nobody waits for actor 0, so its weight gradients need not wait either.
      while (actor == 0 && lane(0).forwards == prices_.microbatches() && lane(0).has_weights()) {
        put(BackwardWeight, 0);
      }
      put(BackwardInput, actor);
    }
  }

  // Weight gradients until the input arrives; a last one that takes longer than the gap unless the
  // actor can afford to wait.
  void fill_gap(OpKind kind, std::int32_t actor) {
    Lane& here = lane(actor);
    const Nanoseconds input = arrival(kind, actor);
    const auto weight = [&] { return prices_.of(BackwardWeight, actor, here.weights); };
    while (here.has_weights() && here.time + weight() <= input) put(BackwardWeight, actor);
    if (!here.has_weights() || here.time >= input) return;
    if (choices_.fill_short_gaps || input - here.time > slack(actor)) put(BackwardWeight, actor);
  }

  const ZbPrices& prices_;
  const ZbMemory& memory_;
  const ZbChoices& choices_;
  const std::int32_t last_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<Step>> order_;
  Nanoseconds longest_idle_ = 0;
};

}  // namespace

std::vector<std::vector<Step>> zb_greedy(const ZbPrices& prices, const ZbMemory& memory,
                                         const ZbChoices& choices) {
  return Greedy(prices, memory, choices).run();
}

}  // namespace penstock
