#include "json_text.h"

#include <nlohmann/json.hpp>

namespace penstock {

std::string json_string(std::string_view text) {
  return json_text(nlohmann::json(text));
}

std::string microseconds(Nanoseconds t) {
  const Nanoseconds size = t < 0 ? -t : t;
  return fmt::format("{}{}.{:03}", t < 0 ? "-" : "", size / 1000, size % 1000);
}

}  // namespace penstock
