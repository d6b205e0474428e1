#include <filesystem>

#include <fmt/format.h>

#include "penstock/check.h"
#include "penstock/error.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {
namespace {

Format target_format(const Arguments& arguments) {
  if (arguments.has("to")) {
    const auto format = parse_format(arguments.text("to"));
    if (!format) throw UsageError(fmt::format("--to does not know '{}'", arguments.text("to")));
    return *format;
  }
  const std::string ending = std::filesystem::path(arguments.text_or("output", "")).extension();
  if (ending == ".json") return Format::Json;
  if (ending == ".txt") return Format::Text;
  if (ending == ".csv") return Format::TorchCompute;
  throw UsageError("the target format is not clear from the output's name; give --to");
}

}  // namespace

int run_convert(const Arguments& arguments) {
  const Format to = target_format(arguments);
  const std::string& path = arguments.positional()[0];
  const std::string content = read_file(path);
  const auto from = format_from(arguments);
  if (auto problems = check(read_schedule(content, path, from), path); !problems.empty()) {
    throw Error(std::move(problems));
  }
  write_file(arguments.text_or("output", "-"), convert_schedule(content, path, from, to));
  return 0;
}

}  // namespace penstock
