// File: counted_new.h. This program's operator new counts.
#pragma once

#include <cstdint>

namespace penstock::testing {

std::int64_t allocations();

// Of those with an alignment, which tensors have: the bytes asked for so far, freed ones included.
std::int64_t aligned_bytes();

}  // namespace penstock::testing
