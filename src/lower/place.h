// File: place.h. The lowering policies: each moves the transfers of a program that was written
// along the linear order. A file each; lower/policies.cc is the table.
#pragma once

#include <cstddef>
#include <vector>

#include "penstock/program.h"

namespace penstock {

// REQUIRES, here and below: the actions are Linear's and there is no step end yet. Linear time.
void place_transfers(MessagePlacement placement, Program& program);

void place_paired(Program& program);
void place_deferred(Program& program);
void place_naive(Program& program);

// Calls visit(message) for what the computes that start together with actions[at] wait for, if that
// is the first of them.
template <typename Visit>
void visit_awaited(const Program& program, const std::vector<Action>& actions, std::size_t at,
                   Visit visit) {
  const auto compute = [&](std::size_t i) -> const Compute& {
    return program.computes[static_cast<std::size_t>(actions[i].index)];
  };
  const auto is_compute = [&](std::size_t i) { return actions[i].kind == ActionKind::Compute; };
  if (!is_compute(at) || compute(at).overlaps_previous) return;
  do {
    if (compute(at).awaits >= 0) visit(compute(at).awaits);
    ++at;
  } while (at < actions.size() && is_compute(at) && compute(at).overlaps_previous);
}

}  // namespace penstock
