// File: runs.h. Runs plans with actors as threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "../generate_near.h"
#include "device/device.h"
#include "penstock/execute.h"
#include "penstock/generate.h"
#include "run.h"
#include "transport/in_process.h"

namespace penstock {

inline RunResult run_in_process(const RunPlan& plan, const MakeDevice& make_device,
                                const InProcessOptions& transport = {},
                                const RunOptions& options = {}) {
  RunResult result;
  with_actors(
      plan.program.schedule.pipeline.actors,
      [&](Transport& t) {
        RunResult mine = run_actor(plan, options, make_device, t);
        if (mine.root) result = std::move(mine);
      },
      transport);
  return result;
}

// First and last stage of each route: what a tied embedding shares.
inline std::vector<std::vector<std::int32_t>> tied_stages(const Schedule& schedule) {
  std::vector<std::vector<std::int32_t>> groups;
  for (const Route& route : schedule.pipeline.routes) {
    if (route.size() > 1) groups.push_back({route.front(), route.back()});
  }
  return groups;
}

inline RunPlan fake_plan(Program program, std::int32_t steps) {
  RunPlan plan;
  plan.program = std::move(program);
  plan.batch = {
      .global = static_cast<std::int32_t>(plan.program.schedule.pipeline.microbatches.size()),
      .micro = 1,
      .sequence = 37};
  plan.train.steps = steps;
  plan.train.optimizer.lr = 0.5;
  plan.train.optimizer.warmup_steps = 2;
  return plan;
}

inline RunPlan fake_plan(const Schedule& schedule, bool tied, std::int32_t steps,
                         MessagePlacement placement = MessagePlacement::Linear) {
  LowerOptions options;
  options.placement = placement;
  if (tied) options.shared = tied_stages(schedule);
  return fake_plan(lower(schedule, options), steps);
}

struct ScheduleCase {
  std::string name;
  std::int32_t actors = 1;
  std::int32_t chunks = 1;
  std::int32_t microbatches = 1;
};

// Flushes of every shape: with and without chunks, warm-up short, long and whole. All generators:
// catalogue_test.cc.
inline std::vector<ScheduleCase> schedule_cases(const std::vector<std::int32_t>& actors,
                                                const std::vector<std::int32_t>& microbatches) {
  std::vector<ScheduleCase> cases;
  for (const char* name : {"gpipe", "1f1b", "eager_1f1b", "interleaved_1f1b", "looped_bfs"}) {
    for (const std::int32_t p : actors) {
      for (const std::int32_t m : microbatches) {
        const bool chunked =
            std::string(name) == "interleaved_1f1b" || std::string(name) == "looped_bfs";
        cases.push_back({name, p, chunked ? 2 : 1, m});
      }
    }
  }
  return cases;
}

// The case's schedule, or nothing when the generator's own rule refuses the size.
inline std::optional<Schedule> make(const ScheduleCase& c) {
  return generate_if_legal(
      c.name, {.actors = c.actors, .chunks = c.chunks, .microbatches = c.microbatches});
}

inline std::string to_text(const ScheduleCase& c) {
  return fmt::format("{} p={} v={} m={}", c.name, c.actors, c.chunks, c.microbatches);
}

}  // namespace penstock
