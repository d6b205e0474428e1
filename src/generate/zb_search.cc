#include "zb_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "members.h"
#include "option.h"
#include "zb_greedy.h"
#include "zb_prices.h"

namespace penstock {
namespace {

using Orders = std::vector<std::vector<Step>>;  // [actor]

// What an order comes to; less is better, the first field first.
struct Score {
  Nanoseconds longest_actor = 0;
  Nanoseconds makespan = 0;
  std::int64_t in_flight = 0;
  auto key() const { return std::tie(longest_actor, makespan, in_flight); }
};

// The most that an actor of `orders` holds at any time.
std::int64_t peak(const Orders& orders, const ZbMemory& memory) {
  std::int64_t most = 0;
  for (const std::vector<Step>& order : orders) {
    std::int64_t held = 0;
    for (const Step& step : order) {
      held += memory.change(step.op.kind);
      most = std::max(most, held);
    }
  }
  return most;
}

// Plays orders without contention: an op starts when its actor is free and its input has arrived.
class Play {
 public:
  explicit Play(const ZbPrices& prices) : prices_(prices) {
    for (auto& ends : ends_) {
      ends.resize(static_cast<std::size_t>(prices.actors()) *
                  static_cast<std::size_t>(prices.microbatches()));
    }
  }

  // REQUIRES: a valid schedule's orders.
  Score score(const Orders& orders) {
    for (auto& ends : ends_) std::fill(ends.begin(), ends.end(), kNotRun);
    lanes_.assign(orders.size(), {});
    for (std::int32_t actor = prices_.actors() - 1; actor >= 0; --actor) call(actor);
    while (!called_.empty()) {
      const std::int32_t actor = called_.back();
      called_.pop_back();
      run(actor, orders[static_cast<std::size_t>(actor)]);
    }
    Score score;
    for (const Lane& lane : lanes_) {
      score.longest_actor = std::max(score.longest_actor, lane.time - lane.start);
      score.makespan = std::max(score.makespan, lane.time);
    }
    score.in_flight = peak(orders, {});
    return score;
  }

 private:
  static constexpr Nanoseconds kNotRun = -1;

  struct Lane {
    std::size_t next = 0;
    Nanoseconds start = kNotRun;
    Nanoseconds time = 0;
    bool called = false;
  };

  // Puts the actor among those that may have something to run.
  void call(std::int32_t actor) {
    if (actor < 0 || actor == prices_.actors()) return;
    Lane& lane = lanes_[static_cast<std::size_t>(actor)];
    if (!std::exchange(lane.called, true)) called_.push_back(actor);
  }

  // As far as the inputs that are there let it.
  void run(std::int32_t actor, const std::vector<Step>& order) {
    Lane& lane = lanes_[static_cast<std::size_t>(actor)];
    lane.called = false;
    for (; lane.next < order.size(); ++lane.next) {
      const Op& op = order[lane.next].op;
      if (!put(op, lane)) return;
      if (op.kind == OpKind::Forward) call(actor + 1);
      if (op.kind == OpKind::BackwardInput) call(actor - 1);
    }
  }

  Nanoseconds& end(const Op& op, std::int32_t actor) {
    return ends_[op.kind == OpKind::Forward ? 0 : 1]
                [static_cast<std::size_t>(actor) *
                     static_cast<std::size_t>(prices_.microbatches()) +
                 static_cast<std::size_t>(op.microbatch)];
  }

  bool put(const Op& op, Lane& lane) {
    const std::int32_t actor = op.stage;
    const std::int32_t from = op.kind == OpKind::Forward ? actor - 1 : actor + 1;
    Nanoseconds start = lane.time;
    if (op.kind != OpKind::BackwardWeight && from >= 0 && from < prices_.actors()) {
      const Nanoseconds input = end(op, from);
      if (input == kNotRun) return false;
      start = std::max(start, input + prices_.hop(std::min(actor, from), op.microbatch));
    }
    if (lane.start == kNotRun) lane.start = start;
    lane.time = start + prices_.of(op.kind, actor, op.microbatch);
    if (op.kind != OpKind::BackwardWeight) end(op, actor) = lane.time;
    return true;
  }

  const ZbPrices& prices_;
  std::vector<Lane> lanes_;
  std::vector<std::int32_t> called_;
  std::array<std::vector<Nanoseconds>, 2> ends_;  // of forwards and of input gradients
};

// Keeps the best of the orders that it is shown.
class Best {
 public:
  explicit Best(const ZbPrices& prices) : play_(prices) {}

  void consider(Orders orders) {
    const Score score = play_.score(orders);
    if (score_ && score_->key() <= score.key()) return;
    score_ = score;
    orders_ = std::move(orders);
  }

  Orders take() { return std::move(orders_); }

 private:
  Play play_;
  std::optional<Score> score_;
  Orders orders_;
};

// The greedy's orders, also those that leave more room than they must, and the two that are given
// by rule if they fit.
Orders best_order(const GenerateOptions& options, const ZbPrices& prices, const ZbMemory& memory) {
  Best best(prices);
  const ZbMemory nothing_freed_early{.most = memory.most};
  for (const ZbMemory& kept : {nothing_freed_early, memory}) {
    for (int choice = 0; choice < 8; ++choice) {
      best.consider(zb_greedy(prices, kept,
                              {.late_first_input = (choice & 1) != 0,
                               .hold_back = (choice & 2) != 0,
                               .fill_short_gaps = (choice & 4) != 0}));
    }
    if (memory.share == nothing_freed_early.share) break;
  }
  for (const auto& rule : {&zb_h1, &zb_h2}) {
    Orders orders = rule(options).order;
    if (peak(orders, memory) <= memory.most) best.consider(std::move(orders));
  }
  return best.take();
}

// About half a minute.
constexpr std::int64_t kMostOps = 10'000'000;

void check_size(const char* name, const GenerateOptions& options, std::vector<Problem>& problems) {
  const std::int64_t per_microbatch = 3 * std::int64_t{options.actors};
  if (per_microbatch * options.microbatches <= kMostOps) return;
  problems.push_back({"microbatches",
                      fmt::format("{} does not search for orders of more than {} million ops", name,
                                  kMostOps / 1'000'000),
                      fmt::format("at most {} microbatches on {} actors", kMostOps / per_microbatch,
                                  options.actors)});
}

// The largest of any stage where the costs say what an input gradient leaves, else half.
double usual_share(const CostTable& costs) {
  double largest = 0;
  for (const StageCosts& stage : costs.stages) {
    if (!stage.left_bytes || stage.activation_bytes == 0) return 0.5;
    largest = std::max(largest, static_cast<double>(*stage.left_bytes) /
                                    static_cast<double>(stage.activation_bytes));
  }
  return largest;
}

ZbMemory memory_option(const char* name, const GenerateOptions& options, std::int32_t otherwise,
                       std::vector<Problem>& problems) {
  const double most = decimal_option(options, "memory", otherwise, problems);
  if (most < 1) {
    problems.push_back({"option memory",
                        fmt::format("{} cannot keep to {} microbatch activations per actor: no "
                                    "schedule can, as a forward alone stores one",
                                    name, most),
                        "at least 1"});
  }
  const double share =
      decimal_option(options, "weight_share", usual_share(*options.costs), problems);
  if (share > 1) {
    problems.push_back({"option weight_share",
                        fmt::format("{} of an activation are more than the whole", share),
                        "0 to 1: what a weight gradient needs of it"});
  }
  // More than all microbatches is no limit.
  const double useful = std::min(most, options.microbatches + 1.0);
  const auto millionths = [](double activations) {
    return std::llround(activations * ZbMemory::kActivation);
  };
  return {.most = millionths(useful), .share = millionths(std::min(share, 1.0))};
}

}  // namespace

Schedule search_zero_bubble(const char* name, const GenerateOptions& options,
                            std::int32_t memory_by_default) {
  std::vector<Problem> problems;
  check_chunks(name, options, {1}, problems);
  check_size(name, options, problems);
  const ZbMemory memory = memory_option(name, options, memory_by_default, problems);
  throw_if_any(std::move(problems));
  Schedule schedule = zb_h1(options);
  throw_if_any(missing_costs(*options.costs, schedule));
  schedule.name = name;
  schedule.order = best_order(options, {*options.costs, options.microbatches}, memory);
  return schedule;
}

}  // namespace penstock
