// File: random.h. The same numbers from the same seed on every machine.
#pragma once

#include <cstdint>

namespace penstock {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). The standard library's distributions may differ
// between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  // 0 .. count - 1. REQUIRES: count >= 1.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_;
};

}  // namespace penstock
