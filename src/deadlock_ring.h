// File: deadlock_ring.h. Which actors wait for each other, in words.
#pragma once

#include <string>
#include <vector>

#include "linear_order.h"
#include "penstock/depend.h"
#include "penstock/error.h"
#include "penstock/schedule.h"

namespace penstock {

// One problem per ring of actors that wait for each other, each with the whole ring:
//   deadlock: actor 2 waits at 3B1 for 4B1, which actor 3 runs after 3F2; actor 3 waits at 3F2 ..
// `stuck` is where the walk ended. REQUIRES: !stuck.complete, and every op that is waited for is in
// the order. Empty only when an awaited op is missing.
std::vector<Problem> deadlock_rings(const Schedule& schedule, const Dependencies& dependencies,
                                    const LinearOrder& stuck, const std::string& source);

}  // namespace penstock
