#include "penstock/simulate.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"
#include "penstock/experiment.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/metrics.h"
#include "penstock/report.h"
#include "penstock/trace.h"
#include "predict.h"
#include "schedule_input.h"
#include "verbs.h"

namespace penstock {
namespace {

// A:X of --slow-down A=X.
std::pair<std::int32_t, double> slow_down_entry(const std::string& word) {
  std::int32_t actor = -1;
  double factor = 0;
  const std::size_t equals = std::min(word.find('='), word.size());
  const char* end = word.data() + word.size();
  const auto left = std::from_chars(word.data(), word.data() + equals, actor);
  const bool has_value = equals < word.size();
  const auto right = has_value ? std::from_chars(word.data() + equals + 1, end, factor)
                               : std::from_chars_result{end, std::errc::invalid_argument};
  const bool good = left.ec == std::errc{} && left.ptr == word.data() + equals &&
                    right.ec == std::errc{} && right.ptr == end && factor > 0 && factor < 1e6;
  if (!good || actor < 0) {
    throw UsageError(fmt::format("--slow-down takes ACTOR=FACTOR, as 3=1.5, not '{}'", word));
  }
  return {actor, factor};
}

std::vector<double> slow_downs(const Arguments& arguments, std::int32_t actors) {
  std::vector<double> factors;
  for (const std::string& word : arguments.list("slow-down")) {
    const auto [actor, factor] = slow_down_entry(word);
    if (actor >= actors) {
      throw UsageError(fmt::format("--slow-down {}: actors are 0 to {}", word, actors - 1));
    }
    factors.resize(static_cast<std::size_t>(actors), 1.0);
    factors[static_cast<std::size_t>(actor)] = factor;
  }
  return factors;
}

SimulateOptions simulate_options(const Arguments& arguments, std::int32_t actors) {
  const std::string mode = arguments.text_or("p2p", "async");
  const auto p2p = parse_p2p(mode);
  if (!p2p)
    throw UsageError(fmt::format("--p2p takes async, single_stream or blocking, not '{}'", mode));
  const double jitter = arguments.number_or("jitter", 0);
  if (jitter < 0 || jitter > 100) throw UsageError("--jitter takes 0 to 100");
  return {.p2p = *p2p,
          .jitter = jitter,
          .seed = static_cast<std::uint64_t>(arguments.count_or("seed", 0)),
          .slow_down = slow_downs(arguments, actors)};
}

// Receives stand right before their use where a transfer holds the compute lane.
MessagePlacement placement(const Arguments& arguments) {
  return arguments.text_or("p2p", "async") == "blocking" ? MessagePlacement::Paired
                                                         : MessagePlacement::Linear;
}

Timeline simulate_schedule(Schedule schedule, const Arguments& arguments) {
  if (arguments.has("set"))
    throw UsageError("--set overrides a key of an experiment; none is given");
  const SimulateOptions options = simulate_options(arguments, schedule.pipeline.actors);
  const CostTable costs = costs_from(arguments, schedule).value_or(unit_costs(schedule));
  return simulate(lower(std::move(schedule), {.placement = placement(arguments)}), costs, options);
}

Timeline simulate_experiment(std::string_view content, const std::string& path,
                             const Arguments& arguments) {
  const Prepared prepared =
      prepare(parse_experiment(content, path, arguments.list("set")), placement(arguments));
  const Schedule& schedule = prepared.program.schedule;
  std::optional<CostTable> costs = costs_from(arguments, schedule);
  if (!costs) costs = given_costs(prepared.experiment, schedule);
  if (!costs) {
    throw Error(path + ":/costs", "the experiment gives no costs",
                "measure them: mpirun -n " + std::to_string(schedule.pipeline.actors) +
                    " penstock profile " + path +
                    " -o costs.json, then add --costs-file costs.json");
  }
  Timeline timeline =
      simulate(prepared.program, *costs, simulate_options(arguments, schedule.pipeline.actors));
  timeline.tokens = tokens_per_step(prepared.experiment);
  return timeline;
}

// Of --schedule a,b,c.
std::vector<Timeline> simulate_generated(const Arguments& arguments) {
  std::vector<Timeline> timelines;
  std::istringstream names(arguments.text("schedule"));
  for (std::string name; std::getline(names, name, ',');) {
    timelines.push_back(simulate_schedule(generate(name, generate_options(arguments)), arguments));
  }
  if (timelines.empty()) throw UsageError("--schedule names no schedule");
  for (const char* option : {"trace", "explain"}) {
    if (timelines.size() == 1 || !arguments.has(option)) continue;
    throw UsageError(fmt::format("--{} is for one schedule, not {}", option, timelines.size()));
  }
  return timelines;
}

void note_unit_costs(const Arguments& arguments) {
  if (arguments.has("costs") || arguments.has("costs-file")) return;
  complain("no costs given: every stage op takes F=1, B=2, I=1, W=1 ms (see --costs)");
}

std::vector<Timeline> timelines_of(const Arguments& arguments) {
  const bool generated = arguments.has("schedule");
  if (generated && !arguments.positional().empty()) {
    throw UsageError("give CONFIG|SCHEDULE or --schedule, not both");
  }
  std::vector<Timeline> timelines;
  if (generated) {
    timelines = simulate_generated(arguments);
  } else {
    if (arguments.positional().empty()) {
      throw UsageError("give an experiment, a schedule file, or --schedule NAME");
    }
    const std::string& path = arguments.positional()[0];
    refuse_sizes(arguments, path);
    const std::string content = read_file(path);
    if (!arguments.has("from") && is_experiment(content, path)) {
      return {simulate_experiment(content, path, arguments)};
    }
    timelines.push_back(simulate_schedule(checked_schedule(content, path, arguments), arguments));
  }
  note_unit_costs(arguments);
  return timelines;
}

nlohmann::ordered_json as_json(const std::vector<Timeline>& timelines) {
  if (timelines.size() == 1) return report_json(timelines[0], measure(timelines[0]));
  nlohmann::ordered_json all;
  for (const Timeline& timeline : timelines) {
    all["schedules"].push_back(report_json(timeline, measure(timeline)));
  }
  return all;
}

void print_explanation(const Timeline& timeline, const Arguments& arguments) {
  const std::int32_t actor = arguments.integer_or("explain", 0);
  if (actor < 0 || actor >= timeline.actors) {
    throw UsageError(fmt::format("--explain {}: actors are 0 to {}", actor, timeline.actors - 1));
  }
  say(explain(timeline, actor));
}

}  // namespace

int run_simulate(const Arguments& arguments) {
  const bool to_stdout = writes_to_stdout(arguments, {"json", "html", "trace"});
  const std::vector<Timeline> timelines = timelines_of(arguments);
  const Timeline& first = timelines.front();
  if (arguments.has("trace")) write_file(arguments.text("trace"), write_trace(first));
  if (arguments.has("html")) {
    write_file(arguments.text("html"), report_html({.title = first.name, .timelines = timelines}));
  }
  if (arguments.has("json")) {
    write_file(arguments.text("json"), as_json(timelines).dump(2) + "\n");
  }
  if (to_stdout) return 0;
  if (arguments.has("explain")) {
    print_explanation(first, arguments);
  } else if (timelines.size() == 1) {
    say(report_table(first, measure(first)));
  } else {
    say(schedules_table(timelines));
  }
  return 0;
}

}  // namespace penstock
