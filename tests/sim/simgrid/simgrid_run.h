// File: simgrid_run.h. The same program and costs in another engine: SimGrid's flow-level network.
#pragma once

#include "penstock/costs.h"
#include "penstock/program.h"

namespace penstock {

// When the last op ends, in seconds, as SimGrid has it: an actor of its per actor, which sleeps
// through its ops and sends and receives where the program says so; links as in `costs`, and one
// for each channel as wide as its boundary.
// Runs in a process of its own, since SimGrid has one engine per process.
double simgrid_makespan(const Program& program, const CostTable& costs);

}  // namespace penstock
