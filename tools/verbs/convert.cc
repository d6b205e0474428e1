#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "penstock/check.h"
#include "penstock/error.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/trace.h"
#include "run_input.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {
namespace {

// A torch table that is written as one keeps its flavour; everything else has no communication.
Format torch_flavour(const std::string& content, const std::string& path,
                     std::optional<Format> from) {
  if (from && !is_torch(*from)) return Format::TorchCompute;
  return std::max(detect_format(content, path), Format::TorchCompute);
}

// "measured" of out/measured.trace.json.
std::string run_name(const Arguments& arguments) {
  const std::string output = arguments.text_or("output", "-");
  if (output == "-") return arguments.text("from") == "kineto" ? "torch" : "zero-bubble";
  std::filesystem::path name = std::filesystem::path(output).stem();
  return name.extension() == ".trace" ? name.stem() : name;
}

// A step that torch ran, or that was planned with times: a trace, or the order as a schedule.
int convert_run(const Arguments& arguments) {
  const bool as_trace = arguments.text_or("to", "trace") == "trace";
  const std::string ending = std::filesystem::path(arguments.text_or("output", "")).extension();
  const bool as_schedule = arguments.has("to") ? !as_trace : ending == ".txt" || ending == ".csv";
  const std::optional<Format> to = as_schedule ? target_format(arguments) : std::nullopt;
  const ImportedStep step = read_run(arguments, run_name(arguments));
  write_file(arguments.text_or("output", "-"),
             to ? write_schedule(step.schedule, *to) : write_trace(step.timeline));
  tell_notes(step);
  return 0;
}

// Scheduled nodes are a schedule, and with their times a run.
bool is_a_run(const Arguments& arguments) {
  const std::string from = arguments.text_or("from", "");
  return from == "kineto" || (from == "sailsg" && arguments.text_or("to", "") == "trace");
}

}  // namespace

int run_convert(const Arguments& arguments) {
  if (is_a_run(arguments)) {
    if (arguments.has("merge-backward")) {
      throw UsageError("--merge-backward is for schedules, not for a run");
    }
    return convert_run(arguments);
  }
  refuse_options_of_kineto(arguments);
  if (arguments.positional().size() > 1) {
    throw UsageError("several files are the traces of one run: give --from kineto");
  }
  const Format target = target_format(arguments).value_or(Format::Json);
  const std::string& path = arguments.positional()[0];
  const std::string content = read_file(path);
  const auto from = format_from(arguments);
  const bool keeps_flavour = target == Format::TorchCompute && !arguments.has("to");
  const Format to = keeps_flavour ? torch_flavour(content, path, from) : target;
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
