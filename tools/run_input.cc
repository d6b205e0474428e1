#include "run_input.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "console.h"
#include "penstock/error.h"
#include "penstock/files.h"
#include "penstock/scheduled_nodes.h"

namespace penstock {
namespace {

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

ImportedStep read_step(const Arguments& arguments) {
  const std::string& from = arguments.text("from");
  if (from == "kineto") {
    ImportOptions options{.align = arguments.has("align")};
    if (arguments.has("step")) options.step = arguments.count_or("step", 0);
    return import_step(read_ranks(arguments.positional()), options);
  }
  if (from != "sailsg") {
    throw UsageError(fmt::format("--from: no run is written as '{}'; known: kineto, sailsg", from));
  }
  refuse_options_of_kineto(arguments);
  if (arguments.positional().size() > 1) {
    throw UsageError("--from sailsg: one file holds the nodes of all ranks");
  }
  const std::string& path = arguments.positional()[0];
  return import_nodes(read_file(path), path);
}

}  // namespace

ImportedStep read_run(const Arguments& arguments, const std::string& name) {
  ImportedStep step = read_step(arguments);
  step.timeline.name = step.schedule.name = name;
  return step;
}

void refuse_options_of_kineto(const Arguments& arguments) {
  for (const char* name : {"step", "align"}) {
    if (arguments.has(name)) throw UsageError(fmt::format("--{} is for --from kineto", name));
  }
}

void tell_notes(const ImportedStep& step) {
  for (const Problem& note : step.notes) complain(to_string(note));
}

}  // namespace penstock
