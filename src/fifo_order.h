// File: fifo_order.h. Do both ends of every queue name the same transfers in the same order?
#pragma once

#include <vector>

#include "penstock/deadlock.h"

namespace penstock {

// The queues of TransportVerdict: empty when all are in order. Linear time.
// REQUIRES: `kind` is one of the FIFO kinds.
std::vector<OutOfOrder> queues_out_of_order(const Program& program, TransportKind kind);

}  // namespace penstock
