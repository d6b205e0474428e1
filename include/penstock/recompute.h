// File: recompute.h. What a backward finds of its forward's activations.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

// All; all but what is cheap to make again; the stage's input alone. In both of the latter an R in
// front of the backward makes the rest.
enum class RecomputeChoice : std::uint8_t { None, Selective, Full };
std::string_view name(RecomputeChoice choice);  // "none", "selective", "full"

}  // namespace penstock
