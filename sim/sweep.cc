// The makespan without events: one pass over the linear order.
#include <algorithm>
#include <cassert>
#include <numeric>

#include "penstock/index.h"
#include "penstock/simulate.h"
#include "prices.h"

namespace penstock {
namespace {

// lanes[actor]: when it ended its last op.
std::vector<Nanoseconds> sweep_computes(const Program& program, const Prices& prices) {
  std::vector<Nanoseconds> lanes(program.actions.size(), 0);
  std::vector<Nanoseconds> ends(program.computes.size());
  const Compute* const begin = program.computes.data();
  const Compute* const end = begin + program.computes.size();
  for (const Compute* first = begin; first < end;) {
    const Compute* const last = end_of_together(first, end);
    Nanoseconds& lane = lanes[index(first->actor)];
    for (const Compute* compute = first; compute < last; ++compute) {
      if (compute->awaits < 0) continue;
      const Nanoseconds sent = ends[index(program.messages[index(compute->awaits)].producer)];
      lane = std::max(lane, sent + prices.of_input(compute->op).latency);
    }
    lane += prices.of_together(first, last);
    for (; first < last; ++first) ends[static_cast<std::size_t>(first - begin)] = lane;
  }
  return lanes;
}

// The same with bounded queues: an op ends no sooner than the op that makes room for its result
// starts. That one may stand behind it in the linear order, but in front of all that asks when it
// ended.
class QueueSweep {
 public:
  QueueSweep(const Program& program, const Prices& prices)
      : program_(program),
        prices_(prices),
        starts_(program.computes.size()),
        ends_(program.computes.size()),
        last_(program.actions.size()) {}

  std::vector<Nanoseconds> run() {
    const Compute* const begin = program_.computes.data();
    const Compute* const end = begin + program_.computes.size();
    for (const Compute* first = begin; first < end;) {
      const Compute* const last = end_of_together(first, end);
      take(first, last,
           {static_cast<std::size_t>(first - begin), static_cast<std::size_t>(last - begin)});
      first = last;
    }
    std::vector<Nanoseconds> lanes;
    for (const Together& last : last_) lanes.push_back(ended(last));
    return lanes;
  }

 private:
  struct Together {
    std::size_t first = 0;  // computes [first, end)
    std::size_t end = 0;
  };

  void take(const Compute* first, const Compute* last, const Together& taken) {
    Together& before = last_[index(first->actor)];
    Nanoseconds start = ended(before);
    for (const Compute* compute = first; compute < last; ++compute) {
      if (compute->awaits < 0) continue;
      const Message& message = program_.messages[index(compute->awaits)];
      const Nanoseconds sent = ended(together_with(index(message.producer)));
      start = std::max(start, sent + prices_.of_input(compute->op).latency);
    }
    const Nanoseconds end = start + prices_.of_together(first, last);
    for (std::size_t i = taken.first; i < taken.end; ++i) {
      starts_[i] = start;
      ends_[i] = end;
    }
    before = taken;
  }

  Together together_with(std::size_t i) const {
    const std::vector<Compute>& computes = program_.computes;
    Together all{i, i + 1};
    while (computes[all.first].overlaps_previous) --all.first;
    while (all.end < computes.size() && computes[all.end].overlaps_previous) ++all.end;
    return all;
  }

  Nanoseconds ended(const Together& together) const {
    Nanoseconds end = 0;
    for (std::size_t i = together.first; i < together.end; ++i) {
      end = std::max(end, ends_[i]);
      const std::int32_t room = program_.computes[i].room;
      if (room >= 0) end = std::max(end, starts_[index(room)]);
    }
    return end;
  }

  const Program& program_;
  const Prices& prices_;
  std::vector<Nanoseconds> starts_;  // by compute
  std::vector<Nanoseconds> ends_;    // by compute, without waiting for room
  std::vector<Together> last_;       // by actor: what it took last
};

// The step's end: few actions, each of which may hold an actor until the others come.
class StepEnd {
 public:
  StepEnd(const Program& program, const Prices& prices, std::vector<Nanoseconds> lanes)
      : program_(program),
        prices_(prices),
        lanes_(std::move(lanes)),
        cursors_(lanes_.size()),
        ready_(lanes_.size()),
        meetings_(program.shared.size() + 1) {
    for (std::size_t actor = 0; actor < lanes_.size(); ++actor) {
      const std::vector<Action>& list = program.actions[actor];
      std::size_t first = list.size();
      while (first > 0 && list[first - 1].kind >= ActionKind::ReduceGradients) --first;
      cursors_[actor] = first;
      for (std::size_t i = first; i < list.size(); ++i) {
        if (list[i].kind != ActionKind::Update) ++meeting(list[i]).missing;
      }
    }
  }

  std::vector<Nanoseconds> run() {
    std::iota(ready_.begin(), ready_.end(), std::size_t{0});
    while (!ready_.empty()) {
      const std::size_t actor = ready_.back();
      ready_.pop_back();
      proceed(actor);
    }
    return std::move(lanes_);
  }

 private:
  struct Meeting {
    std::size_t missing = 0;
    std::vector<std::size_t> here = {};
  };

  Meeting& meeting(const Action& action) {
    return meetings_[action.kind == ActionKind::GlobalNorm ? meetings_.size() - 1
                                                           : index(action.index)];
  }

  void proceed(std::size_t actor) {
    const std::vector<Action>& list = program_.actions[actor];
    for (; cursors_[actor] < list.size(); ++cursors_[actor]) {
      const Action& action = list[cursors_[actor]];
      if (action.kind != ActionKind::Update) return meet(actor, action);
      lanes_[actor] += prices_.of_step_end(action);
    }
  }

  void meet(std::size_t actor, const Action& action) {
    Meeting& meeting = this->meeting(action);
    meeting.here.push_back(actor);
    if (--meeting.missing > 0) return;
    Nanoseconds together = 0;
    for (const std::size_t member : meeting.here) together = std::max(together, lanes_[member]);
    for (const std::size_t member : meeting.here) {
      lanes_[member] = together + prices_.of_step_end(action);
      ++cursors_[member];
      ready_.push_back(member);
    }
  }

  const Program& program_;
  const Prices& prices_;
  std::vector<Nanoseconds> lanes_;
  std::vector<std::size_t> cursors_;
  std::vector<std::size_t> ready_;  // actors that can go on
  std::vector<Meeting> meetings_;   // one per shared group, then the norm exchange
};

bool step_end_is_free(const CostTable& costs) {
  return costs.global_norm == 0 &&
         std::all_of(costs.stages.begin(), costs.stages.end(),
                     [](const StageCosts& s) { return s.update == 0 && s.reduce == 0; });
}

}  // namespace

bool can_sweep(const CostTable& costs) {
  const auto is_free = [](const StageCosts& stage) {
    return stage.message.occupancy(stage.message.largest()) == 0;
  };
  return costs.links.empty() && std::all_of(costs.stages.begin(), costs.stages.end(), is_free);
}

Nanoseconds sweep_makespan(const Program& program, const CostTable& costs) {
  assert(can_sweep(costs) && "a channel that can be busy needs the engine");
  assert(!has_verdict(program) && "steps that overlap need the engine");
  const SimulateOptions options;
  const Prices prices(program, costs, options);
  const bool queues = program.schedule.pipeline.learning.queue_capacity > 0;
  std::vector<Nanoseconds> lanes =
      queues ? QueueSweep(program, prices).run() : sweep_computes(program, prices);
  if (!step_end_is_free(costs)) lanes = StepEnd(program, prices, std::move(lanes)).run();
  return lanes.empty() ? 0 : *std::max_element(lanes.begin(), lanes.end());
}

}  // namespace penstock
