#include "penstock/check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {
namespace {

// All problems of one file, those of the file before those of the schedule in it.
std::vector<Problem> problems_of(const std::string& path, const Arguments& arguments) {
  try {
    read_checked_schedule(path, arguments);
    return {};
  } catch (const RunError&) {
    throw;
  } catch (const Error& error) {
    return error.problems();
  }
}

}  // namespace

int run_check(const Arguments& arguments) {
  std::vector<Problem> problems;
  for (const std::string& path : arguments.positional()) {
    const std::vector<Problem> found = problems_of(path, arguments);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  if (arguments.has("json")) {
    nlohmann::ordered_json json;
    json["problems"] = nlohmann::ordered_json::array();
    for (const Problem& problem : problems) {
      json["problems"].push_back(
          {{"where", problem.where}, {"what", problem.what}, {"hint", problem.hint}});
    }
    say(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (problems.empty()) {
    say(fmt::format("{} valid\n",
                    arguments.positional().size() == 1 ? "the schedule is" : "all schedules are"));
  } else {
    for (const Problem& problem : problems) complain(to_string(problem));
  }
  return problems.empty() ? 0 : 1;
}

}  // namespace penstock
