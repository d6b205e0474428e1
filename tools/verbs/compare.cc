#include <nlohmann/json.hpp>

#include "console.h"
#include "json_output.h"
#include "penstock/files.h"
#include "penstock/report.h"
#include "penstock/trace.h"
#include "verbs.h"

namespace penstock {

int run_compare(const Arguments& arguments) {
  const bool to_stdout = writes_to_stdout(arguments, {"json", "csv", "html"});
  const std::string& a_path = arguments.positional()[0];
  const std::string& b_path = arguments.positional()[1];
  const Timeline a = read_trace(read_file(a_path), a_path);
  const Timeline b = read_trace(read_file(b_path), b_path);
  if (arguments.has("html")) {
    write_file(arguments.text("html"), report_html({.title = a.name, .timelines = {a, b}}));
  }
  if (arguments.has("json")) {
    write_json(arguments.text("json"), compare_json(a, b));
  }
  if (arguments.has("csv")) write_file(arguments.text("csv"), compare_csv(a, b));
  if (!to_stdout) say(compare_table(a, b));
  return 0;
}

}  // namespace penstock
