// File: random.h. The same numbers from the same seed on every machine.
#pragma once

#include <cstdint>

#include "split_mix.h"

namespace penstock {

// SplitMix64. The standard library's distributions may differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    const std::uint64_t number = split_mix(state_);
    state_ += kSplitMixStep;
    return number;
  }
  // 0 .. count - 1. REQUIRES: count >= 1.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_;
};

}  // namespace penstock
