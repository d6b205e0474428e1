#include <filesystem>
#include <optional>

#include "penstock/check.h"
#include "penstock/error.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {
namespace {

// A torch table that is written as one keeps its flavour; everything else has no communication.
Format torch_flavour(const std::string& content, const std::string& path,
                     std::optional<Format> from) {
  if (from == Format::Json || from == Format::Text) return Format::TorchCompute;
  const bool has_communication = detect_format(content, path) == Format::TorchComms;
  return has_communication ? Format::TorchComms : Format::TorchCompute;
}

// By --to, or by the ending of the output's name; nullopt: a torch table.
std::optional<Format> target_format(const Arguments& arguments) {
  if (arguments.has("to")) return format_of(arguments, "to");
  const std::string ending = std::filesystem::path(arguments.text_or("output", "")).extension();
  if (ending == ".json") return Format::Json;
  if (ending == ".txt") return Format::Text;
  if (ending == ".csv") return std::nullopt;
  throw UsageError("the target format is not clear from the output's name; give --to");
}

bool is_torch(Format format) {
  return format != Format::Json && format != Format::Text;
}

}  // namespace

int run_convert(const Arguments& arguments) {
  const std::optional<Format> target = target_format(arguments);
  const std::string& path = arguments.positional()[0];
  const std::string content = read_file(path);
  const auto from = format_from(arguments);
  const Format to = target ? *target : torch_flavour(content, path, from);
  // Between torch's formats a table is rewritten cell by cell, whether or not it is a whole
  // schedule.
  if (!is_torch(to) || !is_torch(from ? *from : detect_format(content, path))) {
    auto problems = check(read_schedule(content, path, from), path);
    if (!problems.empty()) throw Error(std::move(problems));
  }
  write_file(arguments.text_or("output", "-"), convert_schedule(content, path, from, to));
  return 0;
}

}  // namespace penstock
