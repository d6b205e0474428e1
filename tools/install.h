// File: install.h. Where this program's own files lie: beside it, in the build tree or installed.
#pragma once

#include <filesystem>

namespace penstock {

// configs/ of the source tree that this program was built from, or share/penstock/configs where it
// is installed; PENSTOCK_CONFIGS overrides.
std::filesystem::path configs_folder();

}  // namespace penstock
