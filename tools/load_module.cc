// Opens the modules: beside the program in the build tree, under lib/ when installed.
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "penstock/execute.h"
#include "penstock/search.h"

namespace penstock {
namespace {

struct Module {
  const char* file;
  const char* folder;    // in the build tree
  const char* variable;  // of the environment: names another file
  const char* entry;
  int mode;
};

// Open MPI's own plugins look for the executor's symbols, so they are global.
constexpr Module kExecutor = {"libpenstock-exec.so", "exec", "PENSTOCK_EXEC_MODULE",
                              "penstock_executor", RTLD_NOW | RTLD_GLOBAL};
constexpr Module kSearch = {"libpenstock-search.so", "sim", "PENSTOCK_SEARCH_MODULE",
                            "penstock_search", RTLD_NOW | RTLD_LOCAL};

std::vector<std::filesystem::path> candidates(const Module& module) {
  if (const char* named = std::getenv(module.variable)) return {named};
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path above = program.parent_path().parent_path();
  return {above / module.folder / module.file, above / "lib" / "penstock" / module.file};
}

// The module's entry; a module is never closed.
void* load(const Module& module) {
  std::string tried;
  for (const std::filesystem::path& path : candidates(module)) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      tried += (tried.empty() ? "" : ", ") + path.string();
      continue;
    }
    void* handle = dlopen(path.c_str(), module.mode);
    if (handle == nullptr) throw RunError(path.string(), dlerror());
    void* entry = dlsym(handle, module.entry);
    if (entry == nullptr) {
      throw RunError(path.string(), std::string("is no such module: it lacks ") + module.entry);
    }
    return entry;
  }
  throw RunError(tried, "the module is not there",
                 std::string("build it, or name it in ") + module.variable);
}

}  // namespace

Executor& load_executor() {
  return *reinterpret_cast<Executor* (*)()>(load(kExecutor))();
}

bool executor_is_loaded() {
  return dlsym(RTLD_DEFAULT, kExecutor.entry) != nullptr;  // it is opened globally
}

Search& load_search() {
  return *reinterpret_cast<Search* (*)()>(load(kSearch))();
}

}  // namespace penstock
