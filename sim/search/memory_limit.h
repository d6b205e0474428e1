// File: memory_limit.h. What no order can do with less of.
#pragma once

#include <cstdint>
#include <vector>

#include "instance.h"
#include "order.h"
#include "penstock/error.h"

namespace penstock {

// Why no order at all keeps the instance's limits: an actor may hold less than one microbatch,
// whose activations are all there when its last forward ends. Each problem names the actor and the
// least that works. Empty: one_at_a_time() keeps them.
std::vector<Problem> unmet_limits(const Instance& instance, const std::vector<double>& in_flight,
                                  const std::vector<std::int64_t>& bytes);

// Each microbatch forward and backward before the next begins.
Order one_at_a_time(const Instance& instance);

}  // namespace penstock
