// File: random_schedules.h. Schedules and costs for property tests.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/costs.h"
#include "penstock/schedule.h"

namespace penstock {

// A legal schedule that no generator would make: one or two routes over stages that sit anywhere,
// slices, B or I and W, pairs, R, U, windows, queues, in a random order that keeps the
// dependencies.
struct RandomSchedule {
  Schedule schedule;
  std::vector<bool> splits;  // by stage: I and W instead of B
};
// Plain: backpropagation with a flush, without R.
enum class Variety { All, Plain };
RandomSchedule random_schedule(std::uint64_t seed, Variety variety = Variety::All);

// Uneven over stages, partly over microbatches and slices; some are 0.
struct CostChoice {
  bool bandwidth = false;  // some boundaries have limited bandwidth
  bool step_end = false;   // reductions, norm and updates cost something
};
CostTable random_costs(const Schedule& schedule, std::uint64_t seed, const CostChoice& choice);

}  // namespace penstock
