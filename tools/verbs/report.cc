#include "penstock/report.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"
#include "json_output.h"
#include "penstock/files.h"
#include "penstock/metrics.h"
#include "penstock/trace.h"
#include "run_input.h"
#include "verbs.h"

namespace penstock {
namespace {

nlohmann::ordered_json as_json(const std::vector<Timeline>& timelines) {
  if (timelines.size() == 1) return report_json(timelines[0], measure(timelines[0]));
  nlohmann::ordered_json all;
  for (const Timeline& timeline : timelines) {
    all["traces"].push_back(report_json(timeline, measure(timeline)));
  }
  return all;
}

std::vector<Timeline> read_timelines(const Arguments& arguments) {
  if (arguments.has("from")) {
    const std::string name = std::filesystem::path(arguments.positional()[0]).stem();
    ImportedStep step = read_run(arguments, name);
    tell_notes(step);
    return {std::move(step.timeline)};
  }
  refuse_options_of_kineto(arguments);
  std::vector<Timeline> timelines;
  for (const std::string& path : arguments.positional()) {
    timelines.push_back(read_trace(read_file(path), path));
  }
  return timelines;
}

}  // namespace

int run_report(const Arguments& arguments) {
  const bool to_stdout = writes_to_stdout(arguments, {"json", "csv", "html"});
  const std::vector<Timeline> timelines = read_timelines(arguments);
  if (arguments.has("html")) {
    write_file(arguments.text("html"),
               report_html({.title = timelines.front().name, .timelines = timelines}));
  }
  if (arguments.has("json")) {
    write_json(arguments.text("json"), as_json(timelines));
  }
  if (arguments.has("csv")) write_file(arguments.text("csv"), report_csv(timelines));
  if (to_stdout) return 0;
  for (const Timeline& timeline : timelines) {
    say(arguments.has("explain") ? explain(timeline, arguments.integer_or("explain", 0))
                                 : report_table(timeline, measure(timeline)));
  }
  return 0;
}

}  // namespace penstock
