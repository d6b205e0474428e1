// File: number_text.h. Numbers in texts that people wrote.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace penstock {

// The number that the whole of `text` spells; nullopt for spaces, a plus sign, overflow, or
// anything behind it.
//   parse_number<std::int32_t>("12") == 12
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || end != last) return std::nullopt;
  return number;
}

// Takes the digits in front of `text` off it; nullopt, and `text` as it was, when there are none or
// they overflow.
//   text = "3F5"; take_number(text) == 3; text == "F5"
std::optional<std::int32_t> take_number(std::string_view& text);

}  // namespace penstock
