// File: kineto_clocks.h. Whether the clocks of a run's ranks agree with what waited for what.
#pragma once

#include <string>
#include <vector>

#include "penstock/timeline.h"

namespace penstock {

// A message that was used before it was there.
struct EarlyUse {
  Op producer;
  Op consumer;
  std::int32_t from = 0;  // actors
  std::int32_t to = 0;
  Nanoseconds by = 0;      // the producer's end less the consumer's start
  std::int32_t count = 0;  // such messages from `from` to `to`; the fields above are of the worst
};

// An entry per pair of actors that has any, by (from, to). Transfers name their producer and are
// awaited by at most one span each.
std::vector<EarlyUse> early_uses(const Timeline& timeline);

// By how much each actor's clock has to go forwards for every message to be there in time: the
// least that does, >= 0. Empty when no shift does.
std::vector<Nanoseconds> clock_shifts(const Timeline& timeline);

}  // namespace penstock
