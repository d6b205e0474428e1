#include "lower/step_end.h"

#include <algorithm>
#include <map>
#include <utility>

#include "penstock/index.h"

namespace penstock {
namespace {

void write_norms(Program& program) {
  const bool along_the_pipeline = has_verdict(program);
  for (std::size_t actor = 0; actor < program.actions.size(); ++actor) {
    std::vector<Action>& actions = program.actions[actor];
    if (!along_the_pipeline) {
      actions.push_back({ActionKind::GlobalNorm, 0});
      continue;
    }
    actions.push_back({ActionKind::PartialNorm, 0});
    if (actor > 0) actions.push_back({ActionKind::NormReceive, 0});
    if (actor + 1 < program.actions.size()) actions.push_back({ActionKind::NormSend, 0});
  }
}

}  // namespace

std::vector<std::vector<std::int32_t>> shared_groups(
    const Pipeline& pipeline, std::vector<std::vector<std::int32_t>> groups) {
  std::map<std::int32_t, std::vector<std::int32_t>> copies;
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    copies[pipeline.stages[stage].part].push_back(static_cast<std::int32_t>(stage));
  }
  for (auto& [part, stages] : copies) {
    if (stages.size() > 1) groups.push_back(std::move(stages));
  }
  return groups;
}

void write_step_end(Program& program) {
  const LearningKind learning = program.schedule.pipeline.learning.kind;
  if (learning == LearningKind::ForwardOnly || updates_inside(program.schedule)) return;
  const std::vector<Stage>& stages = program.schedule.pipeline.stages;
  for (std::size_t group = 0; group < program.shared.size(); ++group) {
    std::vector<std::int32_t> actors;
    for (const std::int32_t stage : program.shared[group]) {
      actors.push_back(stages[index(stage)].actor);
    }
    std::sort(actors.begin(), actors.end());
    actors.erase(std::unique(actors.begin(), actors.end()), actors.end());
    for (const std::int32_t actor : actors) {
      program.actions[index(actor)].push_back(
          {ActionKind::ReduceGradients, static_cast<std::int32_t>(group)});
    }
  }
  if (learning == LearningKind::Backprop) write_norms(program);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    program.actions[index(stages[stage].actor)].push_back(
        {ActionKind::Update, static_cast<std::int32_t>(stage)});
  }
}

}  // namespace penstock
