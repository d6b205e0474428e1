#include "lower/post_validation.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "penstock/index.h"

namespace penstock {
namespace {

bool has_mirrored_copies(const Pipeline& pipeline) {
  std::vector<std::int32_t> parts;
  for (const Stage& stage : pipeline.stages) parts.push_back(stage.part);
  std::sort(parts.begin(), parts.end());
  return std::adjacent_find(parts.begin(), parts.end()) != parts.end();
}

// Walks a linear order and tells which steps are speculative.
class Speculation {
 public:
  Speculation(const Schedule& schedule, const Dependencies& dependencies)
      : schedule_(schedule),
        dependencies_(dependencies),
        taken_(schedule.order.size(), 0),
        open_(schedule.order.size(), 1),
        speculative_(index(dependencies.results()), 0) {
    open_.back() = 0;
  }

  // Takes the actor's next step, or pair.
  struct Taken {
    std::int32_t steps = 0;
    bool speculative = false;
  };
  Taken take(std::int32_t actor) {
    const std::vector<Step>& order = schedule_.order[index(actor)];
    std::int32_t& taken = taken_[index(actor)];
    const std::span<const Step> steps(order.data() + taken, index(steps_together(order, taken)));
    std::uint8_t& open = open_[index(actor)];
    open = open != 0 && std::ranges::all_of(steps, [&](const Step& s) { return may(s.op); });
    for (const Step& step : steps) {
      const std::int32_t result = dependencies_.result(step.op);
      if (result >= 0) speculative_[index(result)] = open;
    }
    const auto count = static_cast<std::int32_t>(steps.size());
    taken += count;
    return {count, open != 0};
  }

 private:
  bool may(const Op& op) const {
    if (op.kind != OpKind::Forward) return false;
    bool all = true;
    dependencies_.visit_inputs(
        op, [&](const Op& input) { all &= speculative_[index(dependencies_.result(input))] != 0; });
    return all;
  }

  const Schedule& schedule_;
  const Dependencies& dependencies_;
  std::vector<std::int32_t> taken_;        // by actor: steps
  std::vector<std::uint8_t> open_;         // by actor: all its steps so far were speculative
  std::vector<std::uint8_t> speculative_;  // by result
};

bool is_speculative(const Program& program, const Action& action, std::int32_t speculative) {
  if (action.kind == ActionKind::Compute) return action.index < speculative;
  return is_transfer(action.kind) && program.messages[index(action.index)].producer < speculative;
}

}  // namespace

std::vector<Problem> post_validation_problems(const Schedule& schedule) {
  const Pipeline& pipeline = schedule.pipeline;
  const std::string where = fmt::format("schedule '{}'", schedule.name);
  const std::string hint = "'flush' synchronizes the optimizer of every schedule";
  std::vector<Problem> problems;
  if (pipeline.learning.kind == LearningKind::ForwardOnly) {
    return {{where, "post-validation needs an optimizer step; nothing is learnt", hint}};
  }
  if (pipeline.learning.kind != LearningKind::Backprop) {
    problems.push_back({where,
                        "post-validation replaces an exchange of norms; there is none where "
                        "windows learn by themselves",
                        hint});
  }
  if (pipeline.routes.size() > 1) {
    problems.push_back({where,
                        fmt::format("post-validation passes the norm along one route; there "
                                    "are {}",
                                    pipeline.routes.size()),
                        hint});
  } else if (has_mirrored_copies(pipeline)) {
    problems.push_back(
        {where, "post-validation takes each part once; there are mirrored copies", hint});
  }
  if (pipeline.learning.queue_capacity > 0) {
    problems.push_back({where,
                        "post-validation runs forwards ahead of the verdict, which a bounded "
                        "queue would hold up",
                        hint});
  }
  if (updates_inside(schedule)) {
    problems.push_back({where,
                        "post-validation verifies one update behind the last op; updates "
                        "stand inside the order",
                        hint});
  }
  return problems;
}

// All actors run their speculative part whatever the verdict, so a program that is cut from
// "speculative steps, verdicts, the rest" deadlocks no more than one cut from the linear order, and
// by its Verdict an actor has received all that may have to be sent again.
std::int32_t move_speculative_first(LinearOrder& order, const Schedule& schedule,
                                    const Dependencies& dependencies) {
  Speculation speculation(schedule, dependencies);
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> rest;
  for (std::size_t i = 0; i < order.actors.size();) {
    const Speculation::Taken taken = speculation.take(order.actors[i]);
    (taken.speculative ? first : rest)
        .insert((taken.speculative ? first : rest).end(), index(taken.steps), order.actors[i]);
    i += index(taken.steps);
  }
  const auto count = static_cast<std::int32_t>(first.size());
  first.insert(first.end(), rest.begin(), rest.end());
  order.actors = std::move(first);
  return count;
}

void write_verdicts(Program& program, std::int32_t speculative) {
  for (std::vector<Action>& actions : program.actions) {
    const auto behind = std::find_if_not(actions.begin(), actions.end(), [&](const Action& action) {
      return is_speculative(program, action, speculative);
    });
    actions.insert(behind, {ActionKind::Verdict, 0});
  }
}

}  // namespace penstock
