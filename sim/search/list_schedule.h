// File: list_schedule.h. Builds an order from the start: whenever an actor is free it takes the
// best of what is ready.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "instance.h"
#include "order.h"

namespace penstock {

struct Rule {
  std::vector<std::int64_t> key;  // by node: the least goes first; ties by number
  std::vector<char> split;        // by unit
  // By actor: forwards that would hold more parts wait, where the instance's limit allows more.
  std::vector<std::int64_t> most_parts = {};
  // How long a free actor waits for a better node that is known to come; what fits before is run
  // meanwhile.
  Nanoseconds patience = 0;
};

// What building an order costs, in orders that are merely priced.
inline constexpr std::int64_t kBuilding = 3;

// nullopt when the rule's limits let nobody go on. A forward starts only where the microbatches
// under way can still be finished within the limits, the oldest first: orders with several chunks
// per actor do not run into a corner.
// Takes time in proportion to nodes, times actors.
std::optional<Order> list_schedule(const Instance& instance, const Rule& rule);

}  // namespace penstock
