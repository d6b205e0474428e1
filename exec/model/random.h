// File: random.h. Random numbers by counter: any value without the ones before it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace penstock {

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC'11).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

// A stream of standard normal numbers that depends on (seed, name) alone: element i is the same
// wherever and in whatever order it is asked for.
class NormalStream {
 public:
  NormalStream(std::uint64_t seed, std::string_view name);
  // Elements 2 pair and 2 pair + 1, by Box and Muller's method.
  std::array<double, 2> pair(std::uint64_t pair) const;

 private:
  std::array<std::uint32_t, 2> key_;
};

}  // namespace penstock
