// File: cache_line.h. How shared memory is laid out between processes.
#pragma once

#include <cstddef>

namespace penstock {

inline constexpr std::size_t kCacheLine = 64;

// `bytes` rounded up to whole cache lines: what lies behind it is on a line of its own.
constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace penstock
