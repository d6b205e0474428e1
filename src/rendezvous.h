// File: rendezvous.h. Who waits for whom for ever when a transfer takes both its actors.
#pragma once

#include <vector>

#include "penstock/deadlock.h"

namespace penstock {

// The ring of TransportVerdict: empty when every transfer takes place. Linear time.
// REQUIRES: `kind` is Rendezvous or Grouped.
std::vector<StuckActor> rendezvous_ring(const Program& program, TransportKind kind);

}  // namespace penstock
