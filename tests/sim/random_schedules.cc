#include "random_schedules.h"

#include <algorithm>
#include <map>
#include <random>

#include "dependencies.h"

namespace penstock {
namespace {

using Random = std::mt19937_64;

std::int32_t below(Random& random, std::int32_t bound) {
  return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(bound));
}

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
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

Op take_any(std::vector<Op>& open, Random& random) {
  std::swap(open[random() % open.size()], open.back());
  const Op op = open.back();
  open.pop_back();
  return op;
}

}  // namespace

RandomSchedule random_schedule(std::uint64_t seed) {
  Random random(seed);
  RandomSchedule result;
  Schedule& schedule = result.schedule;
  schedule.name = "random";
  schedule.pipeline = random_pipeline(random);
  schedule.order.resize(index(schedule.pipeline.actors));
  const std::int32_t splitting = below(random, 3);  // of 2: none, about half, all
  for (std::size_t i = 0; i < schedule.pipeline.stages.size(); ++i) {
    result.splits.push_back(below(random, 2) < splitting);
  }
  const auto actor_of = [&](const Op& op) {
    return schedule.pipeline.stages[index(op.stage)].actor;
  };
  const bool pairs = below(random, 2) == 0;
  Opening opening(schedule.pipeline, result.splits);
  while (!opening.open.empty()) {
    const Op op = take_any(opening.open, random);
    std::vector<Step>& order = schedule.order[index(actor_of(op))];
    order.push_back({.op = op});
    const auto partner = std::find_if(opening.open.begin(), opening.open.end(), [&](const Op& o) {
      return actor_of(o) == actor_of(op) &&
             (o.kind == OpKind::Forward) != (op.kind == OpKind::Forward);
    });
    const bool pair = pairs && partner != opening.open.end() && below(random, 2) == 0;
    if (pair) {
      const Op second = *partner;
      opening.open.erase(partner);
      order.push_back({.op = second, .overlaps_previous = true});
      opening.taken(second);
    }
    opening.taken(op);
  }
  return result;
}

CostTable random_costs(const Schedule& schedule, std::uint64_t seed, const CostChoice& choice) {
  Random random(seed);
  const auto some = [&](std::int32_t bound) {
    return below(random, 4) == 0 ? Nanoseconds{0} : Nanoseconds{below(random, bound)};
  };
  const auto varied = [&] {
    Duration duration{.microbatch_varies = true};
    for (const Microbatch& microbatch : schedule.pipeline.microbatches) {
      duration.varied.emplace_back();
      for (std::int32_t i = 0; i < microbatch.slices(); ++i) {
        duration.varied.back().push_back(some(1000));
      }
    }
    return duration;
  };
  CostTable costs;
  if (below(random, 3) == 0) costs.overlap_fb = some(1500);
  if (choice.step_end) costs.global_norm = some(100);
  for (std::size_t i = 0; i < schedule.pipeline.stages.size(); ++i) {
    StageCosts stage;
    for (auto& duration : stage.op) {
      duration = below(random, 4) == 0 ? varied() : Duration{.base = some(1000)};
    }
    if (choice.step_end) {
      stage.update = some(300);
      stage.reduce = some(300);
    }
    stage.message.latency = some(400);
    if (choice.bandwidth && below(random, 2) == 0) {
      stage.message.bytes = below(random, 1000);
      stage.message.bytes_per_s = 1e9;
    }
    stage.activation_bytes = below(random, 1000);
    stage.weight_bytes = below(random, 1000);
    costs.stages.push_back(std::move(stage));
  }
  return costs;
}

}  // namespace penstock
