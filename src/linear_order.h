// File: linear_order.h. One order of all steps in which inputs always come before their users.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/depend.h"
#include "penstock/schedule.h"

namespace penstock {

struct LinearOrder {
  // Whose next step it is, once per step; the two steps of a pair come together. ~actor: the step
  // that this actor started before, whose result found a full queue, has ended.
  std::vector<std::int32_t> actors;
  // How many steps each actor took to their end: all of them, or it waits at that one for ever.
  std::vector<std::int32_t> taken;
  bool complete = false;
};

// Walks the actors round-robin: in each round every actor takes its next step (or pair) if its
// inputs are there. This is the order in which torch's _add_send_recv emits a compute table without
// blanks; it depends on nothing but the schedule.
// Linear time: an actor that waits is passed over until the result it waits for is there.
// REQUIRES: the ops are the pipeline's, on the actors where their stages sit.
LinearOrder linear_order(const Schedule& schedule, const Dependencies& dependencies);

// The number of steps that start together with the one at `position`: 2 for a pair, else 1.
inline std::int32_t steps_together(const std::vector<Step>& order, std::int32_t position) {
  auto end = static_cast<std::size_t>(position) + 1;
  while (end < order.size() && order[end].overlaps_previous) ++end;
  return static_cast<std::int32_t>(end) - position;
}

}  // namespace penstock
