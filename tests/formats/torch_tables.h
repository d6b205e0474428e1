// File: torch_tables.h. Torch's tables under tests/data/torch_csv.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace penstock {

// Files of tests/data/torch_csv/`folder` whose names end in `ending`, sorted, without the ending.
inline std::vector<std::string> tables(const std::string& folder, const std::string& ending) {
  std::vector<std::string> stems;
  const std::string root = TEST_DATA "/torch_csv/" + folder;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending) && name != "METRICS.csv") {
      stems.push_back("torch_csv/" + folder + "/" + name.substr(0, name.size() - ending.size()));
    }
  }
  std::sort(stems.begin(), stems.end());
  return stems;
}

}  // namespace penstock
