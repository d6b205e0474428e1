// File: words.h. The pieces that a word of the command line is made of.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

// "4:8" at ':' is {"4", "8"}; "" is {""}. Views into `text`.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

// "chunks=2" is {"chunks", "2"}; nullopt without a '=' behind something. Views into `text`.
inline std::optional<std::pair<std::string_view, std::string_view>> key_value(
    std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace penstock
