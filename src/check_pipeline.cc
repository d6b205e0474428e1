#include "check_pipeline.h"

#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "check_learning.h"
#include "order_place.h"
#include "penstock/depend.h"
#include "penstock/index.h"

namespace penstock {
namespace {

template <typename T>
std::int64_t size(const std::vector<T>& v) {
  return static_cast<std::int64_t>(v.size());
}

class PipelineCheck {
 public:
  PipelineCheck(const Schedule& schedule, const std::string& source, ProblemList& problems)
      : schedule_(schedule),
        pipeline_(schedule.pipeline),
        source_(source),
        problems_(problems),
        routes_of_(pipeline_.stages.size(), 0) {}

  void run() {
    actors();
    stages();
    for (std::size_t route = 0; route < pipeline_.routes.size(); ++route) stages_of(route);
    for (std::size_t route = 0; route < pipeline_.routes.size(); ++route) parts_of(route);
    every_stage_on_a_route();
    for (std::size_t i = 0; i < pipeline_.microbatches.size(); ++i) microbatch(i);
    check_learning(pipeline_, source_, problems_);
    if (problems_.empty()) amount_of_work();
  }

 private:
  template <typename... Values>
  void problem(const std::string& pointer, std::string hint, fmt::format_string<Values...> what,
               const Values&... values) {
    problems_.add([&] {
      return Problem{place(source_, pointer), fmt::vformat(what, fmt::make_format_args(values...)),
                     std::move(hint)};
    });
  }

  void actors() {
    if (pipeline_.actors < 1) {
      problem("/actors", "at least 1", "{} actors", pipeline_.actors);
    } else if (pipeline_.actors > kMostActors) {
      problem("/actors", fmt::format("at most {}", kMostActors), "{} actors", pipeline_.actors);
    } else if (size(schedule_.order) != pipeline_.actors) {
      problem("/order", "one list per actor", "{} lists of ops, not {}", schedule_.order.size(),
              pipeline_.actors);
    }
    if (pipeline_.stages.empty()) problem("/stages", "at least one", "no stages");
    if (pipeline_.routes.empty()) problem("/routes", "at least one", "no routes");
    if (pipeline_.microbatches.empty()) problem("/microbatches", "at least one", "no microbatches");
  }

  void stages() {
    std::vector<std::uint8_t> used(schedule_.order.size(), 0);
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
      const std::int32_t actor = pipeline_.stages[i].actor;
      if (actor < 0 || actor >= pipeline_.actors) {
        problem(fmt::format("/stages/{}/actor", i),
                fmt::format("actors are numbered from 0, and there are {}", pipeline_.actors),
                "stage {} sits on actor {}, which does not exist", i, actor);
      } else if (index(actor) < used.size()) {
        used[index(actor)] = 1;
      }
    }
    if (size(schedule_.order) != pipeline_.actors) return;
    for (std::size_t actor = 0; actor < used.size(); ++actor) {
      if (used[actor] != 0) continue;
      problem("/stages", "place a stage on it, or ask for fewer actors", "actor {} has no stage",
              actor);
    }
  }

  bool exists(std::int32_t stage) const { return stage >= 0 && stage < size(pipeline_.stages); }

  void stages_of(std::size_t route) {
    if (pipeline_.routes[route].empty()) {
      problem(fmt::format("/routes/{}", route), "name its stages in forward order",
              "route {} passes no stage", route);
    }
    for (std::size_t i = 0; i < pipeline_.routes[route].size(); ++i) {
      const std::int32_t stage = pipeline_.routes[route][i];
      if (!exists(stage)) {
        problem(fmt::format("/routes/{}/{}", route, i),
                fmt::format("stages are 0 to {}", size(pipeline_.stages) - 1),
                "route {} passes stage {}, which does not exist", route, stage);
      } else if (++routes_of_[index(stage)] == 2) {
        problem(fmt::format("/routes/{}/{}", route, i),
                "a stage is on exactly one route, once; give a second route its own stages",
                "stage {} is on a route already", stage);
      }
    }
  }

  // A microbatch passes the whole model once: parts 0, 1, 2, .. along its route.
  void parts_of(std::size_t route) {
    const Route& stages = pipeline_.routes[route];
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (!exists(stages[i])) return;
      const std::int32_t part = pipeline_.stages[index(stages[i])].part;
      if (part == static_cast<std::int32_t>(i)) continue;
      problem(fmt::format("/stages/{}/part", stages[i]),
              "along a route the parts are 0, 1, 2, ..: the whole model in order",
              "stage {} is number {} of route {} but holds part {}", stages[i], i, route, part);
      return;  // the stages behind it are wrong in consequence
    }
    const std::size_t parts = pipeline_.routes[0].size();
    if (stages.size() != parts && !stages.empty()) {
      problem(fmt::format("/routes/{}", route), "every route passes the whole model",
              "route {} ends after part {}, route 0 after part {}", route, stages.size() - 1,
              parts - 1);
    }
  }

  void every_stage_on_a_route() {
    for (std::size_t stage = 0; stage < routes_of_.size(); ++stage) {
      if (routes_of_[stage] != 0) continue;
      problem(fmt::format("/stages/{}", stage), "add it to a route, or leave it out",
              "stage {} is on no route", stage);
    }
  }

  void microbatch(std::size_t i) {
    const Microbatch& microbatch = pipeline_.microbatches[i];
    const auto pointer = [&](std::string_view key) {
      return fmt::format("/microbatches/{}/{}", i, key);
    };
    if (microbatch.route < 0 || microbatch.route >= size(pipeline_.routes)) {
      if (pipeline_.routes.empty()) return;  // said already
      problem(pointer("route"), fmt::format("routes are 0 to {}", size(pipeline_.routes) - 1),
              "microbatch {} takes route {}, which does not exist", i, microbatch.route);
    }
    if (microbatch.sequences < 1) {
      problem(pointer("sequences"), "at least 1", "microbatch {} has {} sequences", i,
              microbatch.sequences);
    }
    for (std::size_t k = 0; k < microbatch.slice_tokens.size(); ++k) {
      if (microbatch.slice_tokens[k] >= 1) continue;
      problem(pointer(fmt::format("slice_tokens/{}", k)), "at least 1",
              "slice {} of microbatch {} has {} tokens", k, i, microbatch.slice_tokens[k]);
    }
  }

  // Tables are as large as the work, so a few bytes of input must not ask for a large one.
  void amount_of_work() {
    std::int64_t steps = 0;
    for (const std::vector<Step>& order : schedule_.order) steps += size(order);
    const std::int64_t units = count_units(pipeline_);
    constexpr std::int64_t kSmall = 1'000'000;
    if (units > Dependencies::kMostUnits) {
      problem("/microbatches", "ask for fewer microbatches, slices or stages",
              "{} stages, microbatches and slices to run is more than the supported {}", units,
              Dependencies::kMostUnits);
    } else if (units > kSmall && units > steps) {
      const bool learns = pipeline_.learning.kind != LearningKind::ForwardOnly;
      problem("/order",
              fmt::format("every stage runs a forward{} of every microbatch on its route",
                          learns ? " and a backward" : ""),
              "{} ops, but the pipeline needs at least {}", steps, (learns ? 2 : 1) * units);
    }
  }

  const Schedule& schedule_;
  const Pipeline& pipeline_;
  const std::string& source_;
  ProblemList& problems_;
  std::vector<std::int32_t> routes_of_;  // by stage: how often a route names it
};

}  // namespace

void check_pipeline(const Schedule& schedule, const std::string& source, ProblemList& problems) {
  PipelineCheck(schedule, source, problems).run();
}

}  // namespace penstock
