#include "lower/place.h"

namespace penstock {

void place_naive(Program& program) {
  for (std::vector<Action>& linear : program.actions) {
    std::vector<Action> actions;
    actions.reserve(linear.size());
    for (std::size_t i = 0; i < linear.size(); ++i) {
      if (linear[i].kind == ActionKind::Receive) continue;
      visit_awaited(program, linear, i, [&](std::int32_t message) {
        actions.push_back({ActionKind::Receive, message});
      });
      actions.push_back(linear[i]);
    }
    linear = std::move(actions);
  }
}

}  // namespace penstock
