// File: model_files.h. Models by the name of their file: shipped ones and those of tests/data.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "penstock/model.h"

namespace penstock::testing {

inline std::string model_text(const std::string& name) {
  for (const std::string folder : {TEST_DATA "/../../configs/models/", TEST_DATA "/models/"}) {
    std::ifstream file(folder + name + ".json");
    if (!file) continue;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  throw std::runtime_error("no model " + name);
}

// With the members of `patch` put in (null removes one).
inline Model model_file(const std::string& name, const std::string& patch = "{}") {
  nlohmann::json document = nlohmann::json::parse(model_text(name));
  document.merge_patch(nlohmann::json::parse(patch));
  return read_model(document.dump(), name);
}

}  // namespace penstock::testing
