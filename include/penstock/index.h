// File: index.h. Ids, counts and kinds as places in a vector.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/op.h"

namespace penstock {

// Stages, actors, microbatches and places in lists are 32-bit and signed, because -1 means none.
// REQUIRES: i >= 0.
//   lanes_[index(action.actor)]
constexpr std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}
constexpr std::size_t index(OpKind kind) {
  return static_cast<std::size_t>(kind);
}
std::size_t index(std::int64_t) = delete;  // would be cut

}  // namespace penstock
