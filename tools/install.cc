#include "install.h"

#include <cstdlib>

namespace penstock {

std::filesystem::path configs_folder() {
  if (const char* given = std::getenv("PENSTOCK_CONFIGS")) return given;
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const auto installed = program.parent_path() / "share" / "penstock" / "configs";
  if (std::filesystem::exists(installed)) return installed;
  return PENSTOCK_SOURCE_CONFIGS;
}

}  // namespace penstock
