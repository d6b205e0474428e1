// File: gather.h. What every actor holds, given to all: values and texts of different lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "transport/transport.h"

namespace penstock {

// One value of each actor, in actor order. Collective.
template <typename T>
std::vector<T> gather_one(Transport& transport, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(transport.actors()));
  transport.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

// Each actor's values, in actor order. Collective.
template <typename T>
std::vector<std::vector<T>> gather(Transport& transport, std::span<const T> mine) {
  const std::vector<std::uint64_t> sizes =
      gather_one(transport, static_cast<std::uint64_t>(mine.size()));
  const std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<T> padded(mine.begin(), mine.end());
  padded.resize(largest);
  std::vector<T> all(largest * sizes.size());
  transport.all_gather(std::as_bytes(std::span<const T>(padded)),
                       std::as_writable_bytes(std::span(all)));
  std::vector<std::vector<T>> parts;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(a * largest);
    parts.emplace_back(first, first + static_cast<std::ptrdiff_t>(sizes[a]));
  }
  return parts;
}

inline std::vector<std::string> gather_text(Transport& transport, std::string_view mine) {
  std::vector<std::string> texts;
  for (const std::vector<char>& part : gather(transport, std::span<const char>(mine))) {
    texts.emplace_back(part.begin(), part.end());
  }
  return texts;
}

}  // namespace penstock
