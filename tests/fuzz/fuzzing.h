// File: fuzzing.h. What every fuzz target does: reads arbitrary bytes, where only Error may escape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "penstock/error.h"

namespace penstock {

// Ends the process, which libFuzzer reports with the input, unless `holds`.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// Calls read(text). Any exception but an Error with a message ends the process.
template <typename Read>
int fuzz(const std::uint8_t* data, std::size_t size, Read read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    require(!error.problems().empty() && error.what()[0] != '\0');
  }
  return 0;
}

}  // namespace penstock
