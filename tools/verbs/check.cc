#include "penstock/check.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"
#include "json_output.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/transports.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {
namespace {

struct Checked {
  std::string path;
  std::vector<Problem> problems;       // those of the file before those of the schedule in it
  std::vector<TransportTrial> trials;  // of a schedule without problems, when asked for
};

// What --transports and --lowering ask for: none, all, or one.
std::span<const LoweringPolicy> policies_of(const Arguments& arguments) {
  const bool one = arguments.has("lowering");
  if (!arguments.has("transports")) {
    if (one) throw UsageError("--lowering needs --transports");
    return {};
  }
  const std::span<const LoweringPolicy> all = lowering_policies();
  if (!one) return all;
  const MessagePlacement wanted = lowering_from(arguments);
  const auto found = std::find_if(all.begin(), all.end(), [&](const LoweringPolicy& policy) {
    return policy.placement == wanted;
  });
  return all.subspan(static_cast<std::size_t>(found - all.begin()), 1);
}

Checked check_file(const std::string& path, std::span<const LoweringPolicy> policies,
                   const Arguments& arguments) {
  try {
    const std::string content = read_file(path);
    const Schedule schedule = checked_schedule(content, path, arguments);
    if (policies.empty()) return {path, {}, {}};
    return {
        path,
        {},
        try_transports(schedule, policies, read_program(content, path, format_from(arguments)))};
  } catch (const RunError&) {
    throw;
  } catch (const Error& error) {
    return {path, error.problems(), {}};
  }
}

nlohmann::ordered_json as_json(const std::vector<Checked>& files, bool transports) {
  nlohmann::ordered_json json;
  json["problems"] = nlohmann::ordered_json::array();
  for (const Checked& file : files) {
    for (const Problem& problem : file.problems) {
      json["problems"].push_back(
          {{"where", problem.where}, {"what", problem.what}, {"hint", problem.hint}});
    }
  }
  if (!transports) return json;
  json["transports"] = nlohmann::ordered_json::array();
  for (const Checked& file : files) {
    for (nlohmann::ordered_json& trial : transports_json(file.trials)) {
      nlohmann::ordered_json entry = {{"file", file.path}};
      entry.update(trial);
      json["transports"].push_back(std::move(entry));
    }
  }
  return json;
}

void print_trials(const std::vector<Checked>& files, bool reasons) {
  for (const Checked& file : files) {
    if (file.trials.empty()) continue;
    say(files.size() == 1 ? "\n" : fmt::format("\n{}\n", file.path));
    say(transports_table(file.trials));
    if (reasons) say("\n" + transports_reasons(file.trials));
  }
}

}  // namespace

int run_check(const Arguments& arguments) {
  const std::span<const LoweringPolicy> policies = policies_of(arguments);
  std::vector<Checked> files;
  for (const std::string& path : arguments.positional()) {
    files.push_back(check_file(path, policies, arguments));
  }
  const bool valid = std::all_of(files.begin(), files.end(),
                                 [](const Checked& file) { return file.problems.empty(); });
  if (arguments.has("json")) {
    say(json_text(as_json(files, !policies.empty())));
    return valid ? 0 : 1;
  }
  if (valid) {
    say(fmt::format("{} valid\n", files.size() == 1 ? "the schedule is" : "all schedules are"));
  }
  for (const Checked& file : files) {
    for (const Problem& problem : file.problems) complain(to_string(problem));
  }
  print_trials(files, arguments.has("lowering"));
  return valid ? 0 : 1;
}

}  // namespace penstock
