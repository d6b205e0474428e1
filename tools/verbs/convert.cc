#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "console.h"
#include "penstock/check.h"
#include "penstock/error.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/kineto.h"
#include "penstock/trace.h"
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

// The traces of all ranks: every problem of every file at once.
std::vector<KinetoRank> read_ranks(const std::vector<std::string>& paths) {
  std::vector<KinetoRank> ranks;
  std::vector<Problem> problems;
  for (const std::string& path : paths) {
    try {
      ranks.push_back(read_kineto(read_file(path), path));
    } catch (const RunError&) {
      throw;
    } catch (const Error& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return ranks;
}

// "measured" of out/measured.trace.json.
std::string run_name(const Arguments& arguments) {
  const std::string output = arguments.text_or("output", "-");
  if (output == "-") return "torch";
  std::filesystem::path name = std::filesystem::path(output).stem();
  return name.extension() == ".trace" ? name.stem() : name;
}

// A step that torch ran: a trace, or the order that ran as a schedule.
int convert_kineto(const Arguments& arguments) {
  const bool as_trace = arguments.text_or("to", "trace") == "trace";
  const std::string ending = std::filesystem::path(arguments.text_or("output", "")).extension();
  const bool as_schedule = arguments.has("to") ? !as_trace : ending == ".txt" || ending == ".csv";
  const std::optional<Format> to = as_schedule ? target_format(arguments) : std::nullopt;
  ImportOptions options{.align = arguments.has("align")};
  if (arguments.has("step")) options.step = arguments.count_or("step", 0);
  ImportedStep step = import_step(read_ranks(arguments.positional()), options);
  step.timeline.name = step.schedule.name = run_name(arguments);
  write_file(arguments.text_or("output", "-"),
             to ? write_schedule(step.schedule, *to) : write_trace(step.timeline));
  for (const Problem& note : step.notes) complain(to_string(note));
  return 0;
}

void refuse_options_of_kineto(const Arguments& arguments) {
  for (const char* name : {"step", "align"}) {
    if (arguments.has(name)) throw UsageError(fmt::format("--{} is for --from kineto", name));
  }
  if (arguments.positional().size() > 1) {
    throw UsageError("several files are the traces of one run: give --from kineto");
  }
}

}  // namespace

int run_convert(const Arguments& arguments) {
  if (arguments.text_or("from", "") == "kineto") {
    if (arguments.has("merge-backward")) {
      throw UsageError("--merge-backward is for schedules, not for a run");
    }
    return convert_kineto(arguments);
  }
  refuse_options_of_kineto(arguments);
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
