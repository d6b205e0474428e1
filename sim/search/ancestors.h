// File: ancestors.h. Which nodes precede which, one bit each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "penstock/index.h"

namespace penstock {

// Memory is quadratic, so large instances do without.
class Ancestors {
 public:
  static constexpr std::size_t kMostNodes = 12'000;  // 18 MB

  explicit Ancestors(std::size_t nodes)
      : words_(nodes <= kMostNodes ? (nodes + 63) / 64 : 0), bits_(nodes * words_, 0) {}

  bool known() const { return words_ > 0; }
  // REQUIRES: known().
  bool has(std::int32_t node, std::int32_t ancestor) const {
    const auto bit = index(ancestor);
    return (row(node)[bit / 64] >> (bit % 64) & 1) != 0;
  }
  // Also the input's own ancestors, which must be complete by then. Nothing unless known().
  void add(std::int32_t node, std::int32_t input) {
    if (!known()) return;
    std::uint64_t* const here = bits_.data() + index(node) * words_;
    const std::uint64_t* const there = row(input);
    for (std::size_t i = 0; i < words_; ++i) here[i] |= there[i];
    const auto bit = index(input);
    here[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }

 private:
  const std::uint64_t* row(std::int32_t node) const { return bits_.data() + index(node) * words_; }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace penstock
