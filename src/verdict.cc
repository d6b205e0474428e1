#include <algorithm>

#include "penstock/program.h"

namespace penstock {
namespace {

bool is_verdict(const Action& action) {
  return action.kind == ActionKind::Verdict;
}

}  // namespace

bool has_verdict(const Program& program) {
  return std::ranges::any_of(program.actions, [](const std::vector<Action>& actions) {
    return std::ranges::any_of(actions, is_verdict);
  });
}

bool keeps_a_copy(const Program& program, std::int32_t actor) {
  return has_verdict(program) && actor + 1 < program.schedule.pipeline.actors;
}

std::int32_t speculative_computes(const Program& program) {
  std::int32_t count = 0;
  for (const std::vector<Action>& actions : program.actions) {
    const auto verdict = std::ranges::find_if(actions, is_verdict);
    if (verdict == actions.end()) continue;
    count += static_cast<std::int32_t>(std::count_if(
        actions.begin(), verdict, [](const Action& a) { return a.kind == ActionKind::Compute; }));
  }
  return count;
}

}  // namespace penstock
