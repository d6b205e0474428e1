// File: list_schedule.h. Legal schedules of any pipeline, drawn by chance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "penstock/schedule.h"

namespace penstock {

struct ListOptions {
  std::uint64_t seed = 0;
  bool split = false;  // I and W instead of B
  bool pairs = false;  // a forward and a backward that are both ready run as a pair
};

// Every tick each actor runs one of its ops whose inputs were there before the tick: so there is an
// order in which all of them progress, pairs included.
class ListSchedule {
 public:
  ListSchedule(const Pipeline& pipeline, const ListOptions& options)
      : pipeline_(pipeline),
        options_(options),
        random_(options.seed),
        next_(next_on_route(pipeline)),
        previous_(previous_on_route(pipeline)) {
    schedule_.name = "by chance";
    schedule_.pipeline = pipeline;
    schedule_.order.resize(static_cast<std::size_t>(pipeline.actors));
    for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) add_microbatch(m);
  }

  Schedule make() {
    while (!waiting_.empty()) {
      const std::set<Op> before = done_;
      for (std::int32_t actor = 0; actor < pipeline_.actors; ++actor) tick(actor, before);
    }
    return schedule_;
  }

 private:
  void add_microbatch(std::size_t m) {
    const Microbatch& microbatch = pipeline_.microbatches[m];
    for (const std::int32_t stage : pipeline_.routes[static_cast<std::size_t>(microbatch.route)]) {
      for (std::int32_t slice = 0; slice < microbatch.slices(); ++slice) {
        Op op{OpKind::Forward, stage, static_cast<std::int32_t>(m), slice};
        waiting_.push_back(op);
        op.kind = options_.split ? OpKind::BackwardInput : OpKind::Backward;
        waiting_.push_back(op);
        op.kind = OpKind::BackwardWeight;
        if (options_.split) waiting_.push_back(op);
      }
    }
  }

  bool ready(const Op& op, const std::set<Op>& done) const {
    const auto has = [&](OpKind kind, std::int32_t stage, std::int32_t slice) {
      return done.contains({kind, stage, op.microbatch, slice});
    };
    const auto stage = static_cast<std::size_t>(op.stage);
    if (op.kind == OpKind::Forward) {
      return (previous_[stage] < 0 || has(op.kind, previous_[stage], op.slice)) &&
             (op.slice == 0 || has(op.kind, op.stage, op.slice - 1));
    }
    if (op.kind == OpKind::BackwardWeight) return has(OpKind::BackwardInput, op.stage, op.slice);
    const Microbatch& microbatch = pipeline_.microbatches[static_cast<std::size_t>(op.microbatch)];
    return has(OpKind::Forward, op.stage, op.slice) &&
           (next_[stage] < 0 || has(op.kind, next_[stage], op.slice)) &&
           (op.slice + 1 == microbatch.slices() || has(op.kind, op.stage, op.slice + 1));
  }

  void tick(std::int32_t actor, const std::set<Op>& before) {
    std::vector<Op> ready_ops;
    for (const Op& op : waiting_) {
      const bool mine = pipeline_.stages[static_cast<std::size_t>(op.stage)].actor == actor;
      if (mine && ready(op, before)) ready_ops.push_back(op);
    }
    if (ready_ops.empty()) return;
    const Op first = ready_ops[random_() % ready_ops.size()];
    run(actor, first, false);
    if (!options_.pairs || first.kind != OpKind::Forward) return;
    for (const Op& op : ready_ops) {
      if (op.kind == OpKind::Forward || op.kind == OpKind::BackwardWeight) continue;
      return run(actor, op, true);
    }
  }

  void run(std::int32_t actor, const Op& op, bool overlaps) {
    schedule_.order[static_cast<std::size_t>(actor)].push_back({op, overlaps});
    done_.insert(op);
    std::erase(waiting_, op);
  }

  const Pipeline& pipeline_;
  ListOptions options_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> next_;
  std::vector<std::int32_t> previous_;
  Schedule schedule_;
  std::set<Op> done_;
  std::vector<Op> waiting_;
};

inline Schedule list_schedule(const Pipeline& pipeline, const ListOptions& options = {}) {
  return ListSchedule(pipeline, options).make();
}

// Two routes that pass the actors in opposite directions; microbatches alternate. With `chunks` 2
// each route is a V: down and up again, so that it begins and ends on one actor.
inline Pipeline two_way(std::int32_t actors, std::int32_t chunks, std::int32_t microbatches) {
  Pipeline pipeline{.actors = actors, .stages = {}, .routes = {}, .microbatches = {}};
  for (std::int32_t route = 0; route < 2; ++route) {
    Route& stages = pipeline.routes.emplace_back();
    for (std::int32_t part = 0; part < actors * chunks; ++part) {
      const std::int32_t down = part % actors;
      const std::int32_t place = part / actors % 2 == 0 ? down : actors - 1 - down;
      stages.push_back(static_cast<std::int32_t>(pipeline.stages.size()));
      pipeline.stages.push_back({.actor = route == 0 ? place : actors - 1 - place, .part = part});
    }
  }
  for (std::int32_t m = 0; m < microbatches; ++m) pipeline.microbatches.push_back({.route = m % 2});
  return pipeline;
}

// One route: down the actors and up again.
inline Pipeline v_pipeline(std::int32_t actors, std::int32_t microbatches) {
  Pipeline pipeline = two_way(actors, 2, microbatches);
  pipeline.stages.resize(pipeline.routes[0].size());
  pipeline.routes.resize(1);
  for (Microbatch& microbatch : pipeline.microbatches) microbatch.route = 0;
  return pipeline;
}

// Every microbatch cut into slices of so many tokens.
inline Pipeline sliced(Pipeline pipeline, const std::vector<std::int32_t>& slice_tokens) {
  for (Microbatch& microbatch : pipeline.microbatches) microbatch.slice_tokens = slice_tokens;
  return pipeline;
}

}  // namespace penstock
