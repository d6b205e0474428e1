// File: steady_step.h. A step among others like it, where actors need not wait for the others' end.
#pragma once

#include <functional>

#include "engine.h"

namespace penstock {

// Simulates step after step, each actor going on where it ended, until all actors' starts move by
// the same time from step to step; returns the last, with its Timeline::period. Channels are free
// between steps. `make_engine` gives an engine for one step of the same program.
Timeline steady_step(const std::function<Engine()>& make_engine);

}  // namespace penstock
