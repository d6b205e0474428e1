// File: json_text.h. Pieces of JSON written as text, for files too large for a DOM.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "penstock/costs.h"

namespace penstock {

// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// A JSON value on one line, likewise.
template <typename Json>
std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// Microseconds with every nanosecond kept, as Chrome traces count time: "12.345".
std::string microseconds(Nanoseconds t);

// Writes "," before every entry but the first of an array or object.
class Commas {
 public:
  std::string_view next() { return std::exchange(first_, false) ? "" : ","; }

 private:
  bool first_ = true;
};

}  // namespace penstock
