// File: jitter.h. Random numbers without a state.
#pragma once

#include <cstdint>

#include "penstock/op.h"

namespace penstock {

// Uniform in [0, 1): a function of (seed, op) alone, so that an op gets the same number wherever
// and whenever a schedule runs it.
double jitter_of(std::uint64_t seed, const Op& op);

}  // namespace penstock
