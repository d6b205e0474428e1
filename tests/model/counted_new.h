// File: counted_new.h. This program's operator new counts its calls.
#pragma once

#include <cstdint>

namespace penstock::testing {

std::int64_t allocations();

}  // namespace penstock::testing
