// File: testing_files.h. Reads the files of tests/data.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace penstock {

// The content of tests/data/`name`.
inline std::string data_file(const std::string& name) {
  std::ifstream file(std::string(TEST_DATA "/") + name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + name);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace penstock
