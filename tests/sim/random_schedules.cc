#include "random_schedules.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "../add_updates.h"
#include "dependencies.h"
#include "penstock/index.h"

namespace penstock {
namespace {

using Random = std::mt19937_64;

std::int32_t below(Random& random, std::int32_t bound) {
  return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(bound));
}

// Half of the time plain; windows of any size that leaves no stage out; queues now and then.
Learning random_learning(Random& random, std::int32_t length) {
  Learning learning;
  if (below(random, 2) == 0) return learning;
  learning.kind = kLearningKinds[index(below(random, 3))];
  if (learning.kind == LearningKind::Local) {
    learning.window = 1 + below(random, length);
    learning.stride = 1 + below(random, learning.window);
  }
  if (below(random, 2) == 0) learning.queue_capacity = 1 + below(random, 3);
  return learning;
}

Pipeline random_pipeline(Random& random) {
  const std::int32_t actors = 1 + below(random, 5);
  const std::int32_t routes = 1 + below(random, 2);
  const std::int32_t length = actors + below(random, 2 * actors);
  Pipeline pipeline{.actors = actors, .stages = {}, .routes = {}, .microbatches = {}};
  for (std::int32_t route = 0; route < routes; ++route) {
    pipeline.routes.emplace_back();
    for (std::int32_t part = 0; part < length; ++part) {
      pipeline.routes.back().push_back(static_cast<std::int32_t>(pipeline.stages.size()));
      pipeline.stages.push_back({.actor = below(random, actors), .part = part});
    }
  }
  // Nobody is without a stage.
  for (std::int32_t actor = 0; actor < actors; ++actor) pipeline.stages[index(actor)].actor = actor;
  std::shuffle(pipeline.stages.begin(), pipeline.stages.begin() + length, random);
  for (std::int32_t part = 0; part < length; ++part) pipeline.stages[index(part)].part = part;
  for (std::int32_t m = 1 + below(random, 6); m > 0; --m) {
    Microbatch microbatch{.route = below(random, routes)};
    for (std::int32_t slices = below(random, 4); slices > 0; --slices) {
      microbatch.slice_tokens.push_back(1 + below(random, 9));
    }
    pipeline.microbatches.push_back(microbatch);
  }
  pipeline.learning = random_learning(random, length);
  return pipeline;
}

// Ops become open when all they need has been taken.
class Opening {
 public:
  Opening(const Pipeline& pipeline, const std::vector<bool>& splits) {
    for (const Op& op : all_ops(pipeline, splits)) {
      const std::vector<Op> inputs = needs(pipeline, splits, op);
      missing_[op] = inputs.size();
      for (const Op& input : inputs) users_[input].push_back(op);
      if (inputs.empty()) open.push_back(op);
    }
  }

  void taken(const Op& op) {
    for (const Op& user : users_[op]) {
      if (--missing_[user] == 0) open.push_back(user);
    }
  }

  std::vector<Op> open;

 private:
  std::map<Op, std::size_t> missing_;
  std::map<Op, std::vector<Op>> users_;
};

// Draws ops that are open, until none is left or, with bounded queues, nobody can go on.
class Drawing {
 public:
  Drawing(const Pipeline& pipeline, const std::vector<bool>& splits, Random& random)
      : pipeline_(pipeline),
        random_(random),
        pairs_(below(random, 2) == 0),
        opening_(pipeline, splits),
        ends_(index(pipeline.actors)),
        order_(index(pipeline.actors)) {}

  // False when some ops could not be run.
  bool draw() {
    while (end_any() || start_any()) continue;
    const auto is_over = [](const std::vector<Op>& ops) { return ops.empty(); };
    return opening_.open.empty() && std::all_of(ends_.begin(), ends_.end(), is_over);
  }

  std::vector<std::vector<Step>> order() { return std::move(order_); }

 private:
  std::int32_t actor_of(const Op& op) const { return pipeline_.stages[index(op.stage)].actor; }

  // Ends what an actor has started, if all that runs there finds room.
  bool end_any() {
    for (std::vector<Op>& ops : ends_) {
      const bool room = std::all_of(ops.begin(), ops.end(), [&](const Op& op) {
        const std::vector<Op> first = starts_to_end(pipeline_, op);
        return std::all_of(first.begin(), first.end(),
                           [&](const Op& start) { return started_.contains(start); });
      });
      if (ops.empty() || !room) continue;
      for (const Op& op : ops) opening_.taken(op);
      ops.clear();
      return true;
    }
    return false;
  }

  // Starts an op, or a forward and another op of the same actor, where nothing runs.
  bool start_any() {
    std::vector<Op>& open = opening_.open;
    const auto idle = [&](const Op& op) { return ends_[index(actor_of(op))].empty(); };
    const auto end = std::partition(open.begin(), open.end(), idle);
    if (end == open.begin()) return false;
    const auto count = static_cast<std::size_t>(end - open.begin());
    const Op op = open[random_() % count];
    start(op, false);
    const auto partner = std::find_if(open.begin(), open.end(), [&](const Op& o) {
      return actor_of(o) == actor_of(op) &&
             (o.kind == OpKind::Forward) != (op.kind == OpKind::Forward);
    });
    if (pairs_ && partner != open.end() && below(random_, 2) == 0) start(*partner, true);
    return true;
  }

  void start(const Op op, bool overlaps_previous) {
    std::vector<Op>& open = opening_.open;
    open.erase(std::find(open.begin(), open.end(), op));
    started_.insert(op);
    ends_[index(actor_of(op))].push_back(op);
    order_[index(actor_of(op))].push_back({.op = op, .overlaps_previous = overlaps_previous});
  }

  const Pipeline& pipeline_;
  Random& random_;
  const bool pairs_;
  Opening opening_;
  std::set<Op> started_;
  std::vector<std::vector<Op>> ends_;  // by actor: what runs
  std::vector<std::vector<Step>> order_;
};

// Some of what any legal schedule may have more: recompute, updates inside the order.
void add_more(Schedule& schedule, Random& random) {
  const bool learns = schedule.pipeline.learning.kind != LearningKind::ForwardOnly;
  if (below(random, 3) == 0) schedule = with_recompute(std::move(schedule));
  if (learns && schedule.pipeline.routes.size() == 1 && below(random, 3) == 0) {
    add_updates(schedule, [&] { return below(random, 2) == 0; });
  }
}

}  // namespace

RandomSchedule random_schedule(std::uint64_t seed, Variety variety) {
  Random random(seed);
  RandomSchedule result;
  Schedule& schedule = result.schedule;
  schedule.name = "random";
  schedule.pipeline = random_pipeline(random);
  const bool plain = variety == Variety::Plain;
  if (plain) schedule.pipeline.learning = {};
  const std::int32_t splitting = below(random, 3);  // of 2: none, about half, all
  for (std::size_t i = 0; i < schedule.pipeline.stages.size(); ++i) {
    result.splits.push_back(below(random, 2) < splitting);
  }
  Drawing drawing(schedule.pipeline, result.splits, random);
  if (drawing.draw()) {
    schedule.order = drawing.order();
    if (!plain) add_more(schedule, random);
    return result;
  }
  schedule.pipeline.learning.queue_capacity = 0;  // the draw filled the queues in a circle
  Drawing again(schedule.pipeline, result.splits, random);
  if (!again.draw()) throw std::logic_error("an op waits for itself");
  schedule.order = again.order();
  if (!plain) add_more(schedule, random);
  return result;
}

CostTable random_costs(const Schedule& schedule, std::uint64_t seed, const CostChoice& choice) {
  Random random(seed);
  const auto some = [&](std::int32_t bound) {
    return below(random, 4) == 0 ? Nanoseconds{0} : Nanoseconds{below(random, bound)};
  };
  const auto varied = [&] {  // [microbatch][slice]
    std::vector<std::vector<std::int64_t>> rows;
    for (const Microbatch& microbatch : schedule.pipeline.microbatches) {
      rows.emplace_back();
      for (std::int32_t i = 0; i < microbatch.slices(); ++i) rows.back().push_back(some(1000));
    }
    return rows;
  };
  CostTable costs;
  if (below(random, 3) == 0) costs.overlap_fb = some(1500);
  if (choice.step_end) costs.global_norm = some(100);
  for (std::size_t i = 0; i < schedule.pipeline.stages.size(); ++i) {
    StageCosts stage;
    for (auto& duration : stage.op) {
      duration = below(random, 4) == 0 ? Duration{.varied = varied(), .microbatch_varies = true}
                                       : Duration{.base = some(1000)};
    }
    if (choice.step_end) stage.reduce = some(300);
    if (choice.step_end || updates_inside(schedule)) stage.update = some(300);
    stage.message.latency = some(400);
    if (choice.bandwidth && below(random, 2) == 0) {
      stage.message.bytes = below(random, 1000);
      stage.message.bytes_per_s = 1e9;
      stage.message.microbatch_varies = below(random, 2) == 0;
      if (stage.message.microbatch_varies) stage.message.varied = varied();
    }
    stage.activation_bytes = below(random, 1000);
    if (below(random, 2) == 0) stage.kept_bytes = below(random, 1000);
    if (below(random, 2) == 0) stage.left_bytes = stage.activation_bytes * below(random, 11) / 10;
    stage.weight_bytes = below(random, 1000);
    costs.stages.push_back(std::move(stage));
  }
  return costs;
}

}  // namespace penstock
