#include "check_placement.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "order_place.h"
#include "penstock/index.h"

namespace penstock {
namespace {

constexpr std::int32_t kNobody = -1;
constexpr std::int32_t kSeveral = -2;

// By stage: the one actor that runs its ops.
std::vector<std::int32_t> runners_of(const Schedule& schedule) {
  std::vector<std::int32_t> runners(schedule.pipeline.stages.size(), kNobody);
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    const auto here = static_cast<std::int32_t>(actor);
    for (const Step& step : schedule.order[actor]) {
      if (step.op.stage < 0 || index(step.op.stage) >= runners.size()) continue;
      std::int32_t& runner = runners[index(step.op.stage)];
      runner = runner == kNobody || runner == here ? here : kSeveral;
    }
  }
  return runners;
}

bool every_actor_has_a_stage(const std::vector<Stage>& stages, std::int32_t actors) {
  std::vector<char> used(index(actors), 0);
  for (const Stage& stage : stages) used[index(stage.actor)] = 1;
  return std::find(used.begin(), used.end(), 0) == used.end();
}

// "0 to 3, 3 to 0": three or more in a row are a range.
std::string ranges(const std::vector<std::int32_t>& numbers) {
  constexpr int kMost = 16;
  std::string text;
  int parts = 0;
  for (std::size_t i = 0; i < numbers.size(); ++parts) {
    if (parts == kMost) return text + ", ..";
    std::size_t last = i;
    const std::int32_t step = i + 1 < numbers.size() ? numbers[i + 1] - numbers[i] : 0;
    if (step == 1 || step == -1) {
      while (last + 1 < numbers.size() && numbers[last + 1] - numbers[last] == step) ++last;
    }
    if (last - i < 2) last = i;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (last > i) text += fmt::format(" to {}", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::vector<std::int32_t> actors_of(const Pipeline& pipeline) {
  std::vector<std::int32_t> actors;
  for (const Stage& stage : pipeline.stages) actors.push_back(stage.actor);
  return actors;
}

// "loop", "V", or nothing.
std::string shape_of(const Pipeline& pipeline) {
  const auto chunks = static_cast<std::int32_t>(pipeline.stages.size()) / pipeline.actors;
  if (chunks == 0) return {};
  const std::vector<std::int32_t> actors = actors_of(pipeline);
  if (actors == actors_of(loop_pipeline(pipeline.actors, chunks, 1))) return "loop";
  if (actors == actors_of(v_pipeline(pipeline.actors, chunks, 1))) return "V";
  return {};
}

std::string shapes(const Pipeline& given, const Pipeline& run) {
  if (shape_of(run).empty()) return {};
  if (shape_of(given).empty()) return fmt::format(": the order is that of a {}", shape_of(run));
  return fmt::format(": the order is that of a {}, the placement that of a {}", shape_of(run),
                     shape_of(given));
}

Problem problem_of(const Pipeline& given, const Pipeline& run, const std::string& source) {
  std::vector<std::int32_t> stages;
  std::vector<std::int32_t> sits;
  std::vector<std::int32_t> runs;
  for (std::size_t stage = 0; stage < given.stages.size(); ++stage) {
    if (given.stages[stage].actor == run.stages[stage].actor) continue;
    stages.push_back(static_cast<std::int32_t>(stage));
    sits.push_back(given.stages[stage].actor);
    runs.push_back(run.stages[stage].actor);
  }
  const std::string what =
      stages.size() == 1 ? fmt::format("stage {} sits on actor {}, but its ops run on actor {}",
                                       stages[0], sits[0], runs[0])
                         : fmt::format("stages {} sit on actors {}, but their ops run on actors {}",
                                       ranges(stages), ranges(sits), ranges(runs));
  return {place(source, "/stages"), what + shapes(given, run),
          fmt::format("if the order is right, the actors of stages 0 to {} are {}",
                      run.stages.size() - 1, ranges(actors_of(run)))};
}

}  // namespace

std::optional<Schedule> check_placement(const Schedule& schedule, const std::string& source,
                                        ProblemList& problems) {
  const std::vector<std::int32_t> runners = runners_of(schedule);
  std::vector<Stage> stages = schedule.pipeline.stages;
  for (std::size_t stage = 0; stage < runners.size(); ++stage) {
    if (runners[stage] >= 0) stages[stage].actor = runners[stage];
  }
  const bool differs = stages != schedule.pipeline.stages;
  if (!differs || !every_actor_has_a_stage(stages, schedule.pipeline.actors)) return {};
  Schedule moved = schedule;
  moved.pipeline.stages = std::move(stages);
  problems.add([&] { return problem_of(schedule.pipeline, moved.pipeline, source); });
  return moved;
}

}  // namespace penstock
