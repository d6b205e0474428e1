// File: json_output.h. JSON for people's scripts.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "penstock/files.h"

namespace penstock {

// Names come from file names, which may hold any bytes: what is not UTF-8 is replaced, so that no
// result is lost over a name.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// To a file, or "-".
inline void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  write_file(path, json_text(json));
}

}  // namespace penstock
