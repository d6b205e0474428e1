#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "members.h"
#include "option.h"
#include "penstock/index.h"
#include "routes.h"

namespace penstock {
namespace {

constexpr std::int32_t kMostStages = 4'000'000;

// "2, 4, 12"
std::string legal_pipes(std::int32_t actors) {
  std::string legal;
  for (std::int32_t n = 2; n <= std::min(actors, kMostStages / actors); n += 2) {
    if (actors % n == 0) legal += fmt::format("{}{}", legal.empty() ? "" : ", ", n);
  }
  return legal;
}

std::int32_t checked_pipes(const GenerateOptions& options) {
  std::vector<Problem> problems;
  const std::int32_t pipes = number_option(options, "pipes", 2, problems);
  check_chunks("chimera", options, {pipes}, problems);
  if (options.actors % 2 != 0) {
    problems.push_back({"actors",
                        fmt::format("chimera's pipes meet in the middle of an even number of "
                                    "actors, not {}",
                                    options.actors),
                        multiples_near(options.actors, 2, 2) + " actors"});
  } else if (pipes % 2 != 0 || options.actors % pipes != 0) {
    problems.push_back({"option pipes",
                        fmt::format("{} pipes are not pairs that start at equal distances on {} "
                                    "actors",
                                    pipes, options.actors),
                        "one of " + legal_pipes(options.actors)});
  } else if (pipes > kMostStages / options.actors) {
    problems.push_back({"option pipes",
                        fmt::format("{} pipes over {} actors each make more than {} stages", pipes,
                                    options.actors, kMostStages),
                        "one of " + legal_pipes(options.actors)});
  }
  throw_if_any(std::move(problems));
  return pipes;
}

// The first half of the pipes runs down the actors, the other half up; the pipes of a half start
// at equal distances and go round.
Pipeline pipes_over(std::int32_t actors, std::int32_t pipes) {
  Pipeline pipeline{.actors = actors};
  for (std::int32_t pipe = 0; pipe < pipes; ++pipe) {
    const bool down = pipe < pipes / 2;
    const std::int32_t start = pipe % (pipes / 2) * (actors / (pipes / 2));
    add_route(pipeline, actors, [=](std::int32_t part) {
      return (start + (down ? part : actors - 1 - part)) % actors;
    });
  }
  return pipeline;
}

// Time in slots of one op each, F or B alike: where nothing collides, an actor's order is by slot.
class Slots {
 public:
  Slots(Pipeline& pipeline, std::int32_t microbatches) : pipeline_(pipeline) {
    steps_.resize(index(pipeline.actors));
    for (std::int32_t first = 0; first < microbatches; first += pipeline.actors) {
      add_unit(first / pipeline.actors, std::min(pipeline.actors, microbatches - first));
    }
  }

  std::vector<std::vector<Step>> orders() {
    std::vector<std::vector<Step>> orders;
    for (auto& steps : steps_) {
      std::sort(steps.begin(), steps.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<Step>& order = orders.emplace_back();
      for (const auto& [slot, step] : steps) order.push_back(step);
    }
    return orders;
  }

 private:
  // A unit's `count` microbatches, up to one per actor, spread evenly over the pipes. The next
  // unit's first ones enter as the first of this one leave.
  void add_unit(std::int32_t unit, std::int32_t count) {
    const auto pipes = static_cast<std::int32_t>(pipeline_.routes.size());
    for (std::int32_t pipe = 0; pipe < pipes; ++pipe) {
      const std::int32_t share = count / pipes + (pipe < count % pipes ? 1 : 0);
      for (std::int32_t i = 0; i < share; ++i) {
        add_microbatch(pipe, 2 * std::int64_t{unit} * pipeline_.actors + 2 * i);
      }
    }
  }

  // Down the route and back, without a break.
  void add_microbatch(std::int32_t pipe, std::int64_t slot) {
    const auto microbatch = static_cast<std::int32_t>(pipeline_.microbatches.size());
    pipeline_.microbatches.push_back({.route = pipe});
    const Route& route = pipeline_.routes[index(pipe)];
    for (auto stage = route.begin(); stage != route.end(); ++stage) {
      add({OpKind::Forward, *stage, microbatch, 0}, slot++);
    }
    for (auto stage = route.rbegin(); stage != route.rend(); ++stage) {
      add({OpKind::Backward, *stage, microbatch, 0}, slot++);
    }
  }

  void add(const Op& op, std::int64_t slot) {
    const std::int32_t actor = pipeline_.stages[index(op.stage)].actor;
    steps_[index(actor)].push_back({slot, {op}});
  }

  Pipeline& pipeline_;
  std::vector<std::vector<std::pair<std::int64_t, Step>>> steps_;  // by actor
};

}  // namespace

Schedule chimera(const GenerateOptions& options) {
  const std::int32_t pipes = checked_pipes(options);
  Schedule schedule{.name = "chimera", .pipeline = pipes_over(options.actors, pipes), .order = {}};
  schedule.order = Slots(schedule.pipeline, options.microbatches).orders();
  return schedule;
}

}  // namespace penstock
