// File: split_mix.h. One step of SplitMix64.
#pragma once

#include <cstdint>

namespace penstock {

inline constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;

// Every input bit changes every output bit (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t split_mix(std::uint64_t x) {
  x += kSplitMixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace penstock
