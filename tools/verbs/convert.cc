#include <algorithm>
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
  return std::max(detect_format(content, path), Format::TorchCompute);
}

bool is_torch(Format format) {
  return format != Format::Json && format != Format::Text;
}

}  // namespace

int run_convert(const Arguments& arguments) {
  const std::optional<Format> target = target_format(arguments);
  if (!target) {
    throw UsageError("the target format is not clear from the output's name; give --to");
  }
  const std::string& path = arguments.positional()[0];
  const std::string content = read_file(path);
  const auto from = format_from(arguments);
  const bool keeps_flavour = *target == Format::TorchCompute && !arguments.has("to");
  const Format to = keeps_flavour ? torch_flavour(content, path, from) : *target;
  // Between torch's formats a table is rewritten cell by cell, whether or not it is a whole
  // schedule.
  const bool merges = arguments.has("merge-backward");
  if (merges || !is_torch(to) || !is_torch(from ? *from : detect_format(content, path))) {
    auto problems = check(read_schedule(content, path, from), path);
    if (!problems.empty()) throw Error(std::move(problems));
  }
  write_file(arguments.text_or("output", "-"), merges ? convert_merged(content, path, from, to)
                                                      : convert_schedule(content, path, from, to));
  return 0;
}

}  // namespace penstock
