#include <fmt/format.h>

#include "console.h"
#include "penstock/error.h"
#include "penstock/execute.h"
#include "verbs.h"

namespace penstock {

int run_version(const Arguments&) {
  say(fmt::format("penstock {}\n", PENSTOCK_VERSION));
  try {
    for (const std::string& line : load_executor().versions()) say(line + "\n");
  } catch (const Error& error) {
    say(fmt::format("executor: {}\n", error.what()));
  }
  return 0;
}

}  // namespace penstock
