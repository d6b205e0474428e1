// Opens the executor's module: beside the program in the build tree, under lib/ when installed.
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "penstock/execute.h"

namespace penstock {
namespace {

constexpr const char* kModule = "libpenstock-exec.so";
constexpr const char* kEntry = "penstock_executor";

std::vector<std::filesystem::path> candidates() {
  if (const char* named = std::getenv("PENSTOCK_EXEC_MODULE")) return {named};
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path above = program.parent_path().parent_path();
  return {above / "exec" / kModule, above / "lib" / "penstock" / kModule};
}

}  // namespace

Executor& load_executor() {
  std::string tried;
  for (const std::filesystem::path& path : candidates()) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      tried += (tried.empty() ? "" : ", ") + path.string();
      continue;
    }
    // Global, as Open MPI's own plugins look for its symbols; never closed.
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (module == nullptr) throw RunError(path.string(), dlerror());
    void* entry = dlsym(module, kEntry);
    if (entry == nullptr) throw RunError(path.string(), "is not an executor module");
    return *reinterpret_cast<Executor* (*)()>(entry)();
  }
  throw RunError(tried, "the executor's module is not there",
                 "build it, or name it in PENSTOCK_EXEC_MODULE");
}

bool executor_is_loaded() {
  return dlsym(RTLD_DEFAULT, kEntry) != nullptr;  // it is opened globally
}

}  // namespace penstock
