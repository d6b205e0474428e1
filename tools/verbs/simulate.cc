#include "penstock/simulate.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"
#include "estimated_run.h"
#include "json_output.h"
#include "penstock/experiment.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/metrics.h"
#include "penstock/number_text.h"
#include "penstock/report.h"
#include "penstock/trace.h"
#include "penstock/trials.h"
#include "predict.h"
#include "schedule_input.h"
#include "search_input.h"
#include "trials_input.h"
#include "verbs.h"
#include "words.h"

namespace penstock {
namespace {

// A:X of --slow-down A=X.
std::pair<std::int32_t, double> slow_down_entry(const std::string& word) {
  const auto [key, value] = key_value(word).value_or(std::pair("", ""));
  const auto actor = parse_number<std::int32_t>(key);
  const auto factor = parse_number<double>(value);
  if (!actor || *actor < 0 || !factor || !(*factor > 0 && *factor <= kMostSlowDown)) {
    throw UsageError(fmt::format("--slow-down takes ACTOR=FACTOR, as 3=1.5, not '{}'", word));
  }
  return {*actor, *factor};
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
  if (jitter < 0 || jitter > kMostJitter) {
    throw UsageError(fmt::format("--jitter takes 0 to {}", kMostJitter));
  }
  return {.p2p = *p2p,
          .jitter = jitter,
          .seed = static_cast<std::uint64_t>(arguments.count_or("seed", 0)),
          .slow_down = slow_downs(arguments, actors)};
}

// By default receives stand right before their use where a transfer holds the compute lane.
MessagePlacement placement(const Arguments& arguments) {
  if (arguments.has("lowering")) return lowering_from(arguments);
  return arguments.text_or("p2p", "async") == "blocking" ? MessagePlacement::Paired
                                                         : MessagePlacement::Linear;
}

Timeline simulate_schedule(Schedule schedule, const Arguments& arguments) {
  if (arguments.has("set"))
    throw UsageError("--set overrides a key of an experiment; none is given");
  const SimulateOptions options = simulate_options(arguments, schedule.pipeline.actors);
  const CostTable costs = costs_from(arguments, schedule).value_or(unit_costs(schedule));
  const LowerOptions lowering{
      .placement = placement(arguments),
      .synchronization = synchronization_from(arguments).value_or(Synchronization::Flush)};
  return simulate(lower(std::move(schedule), lowering), costs, options);
}

// A schedule that is made for costs is made for those of the command line where it gives some.
void use_costs(const Arguments& arguments, Experiment& experiment) {
  if (!is_made_for_costs(experiment.schedule.name)) return;
  auto costs = costs_for_sizes({.actors = experiment.parallel.pipeline,
                                .chunks = experiment.parallel.chunks,
                                .microbatches = experiment.microbatches()},
                               arguments);
  if (!costs) return;
  experiment.uniform_costs.reset();
  experiment.cost_table = std::move(costs);
}

// What one file gives.
struct SimulatedFile {
  Timeline timeline;
  std::optional<EstimatedRun> run;  // where its costs are estimated
};

SimulatedFile simulate_experiment(std::string_view content, const std::string& path,
                                  const Arguments& arguments) {
  Experiment experiment = parse_experiment(content, path, arguments.list("set"));
  use_costs(arguments, experiment);
  if (const auto synchronization = synchronization_from(arguments)) {
    experiment.train.optimizer.synchronization = *synchronization;
  }
  const Prepared prepared = prepare(std::move(experiment), placement(arguments));
  const Schedule& schedule = prepared.program.schedule;
  const SimulateOptions options = simulate_options(arguments, schedule.pipeline.actors);
  std::optional<CostTable> costs = costs_from(arguments, schedule);
  if (!costs && prepared.experiment.estimates_costs) {
    const Estimate estimate = estimate_costs(prepared.experiment, schedule, prepared.split);
    Timeline timeline = simulate(prepared.program, estimate.costs, options);
    timeline.tokens = tokens_per_run(prepared);
    EstimatedRun run = estimated_run(prepared, estimate, measure(timeline), options);
    return {std::move(timeline), std::move(run)};
  }
  if (!costs) costs = given_costs(prepared);
  if (!costs) {
    throw Error(path + ":/costs", "the experiment gives no costs",
                "measure them: mpirun -n " + std::to_string(schedule.pipeline.actors) +
                    " penstock profile " + path +
                    " -o costs.json, then add --costs-file costs.json");
  }
  Timeline timeline = simulate(prepared.program, *costs, options);
  timeline.tokens = tokens_per_run(prepared);
  return {std::move(timeline), std::nullopt};
}

void note_unit_costs(const Arguments& arguments) {
  if (arguments.has("costs") || arguments.has("costs-file")) return;
  complain("no costs given: every stage op takes F=1, B=2, I=1, W=1 ms (see --costs)");
}

// A search among the trials, and what it found.
struct Searched {
  std::string label;
  std::int32_t microbatches = 0;
  SearchResult result;
};

// What a run of the verb gives: one timeline, or the trials of several schedules with their
// timelines where there is one size.
struct Simulated {
  std::vector<Timeline> timelines;
  std::optional<Trials> trials;
  std::vector<Searched> searches;   // in the order in which they ran
  std::vector<Problem> problems;    // of what could not be tried, or does not fit
  std::optional<EstimatedRun> run;  // of the one timeline
};

Metrics measured(const Simulated& simulated, const Timeline& timeline) {
  Metrics metrics = measure(timeline);
  if (simulated.run) metrics.mfu = mfu(*simulated.run, metrics);
  return metrics;
}

Simulated simulate_generated(const Arguments& arguments) {
  const std::vector<ScheduleRequest> requests = schedule_requests(arguments);
  const std::vector<std::int32_t> counts = microbatch_counts(arguments);
  const bool one = requests.size() == 1 && counts.size() == 1;
  for (const char* option : {"trace", "explain"}) {
    if (one || !arguments.has(option)) continue;
    throw UsageError(fmt::format("--{} is for one schedule at one size", option));
  }
  Simulated simulated;
  // A large timeline takes most of the process's memory, so that there is never a copy of it, and a
  // sweep keeps none.
  const auto simulate = [&](const ScheduleRequest& request) -> const Timeline& {
    if (counts.size() > 1) simulated.timelines.clear();
    NamedSchedule named = named_schedule(request.name, request.options, arguments);
    if (named.search) {
      simulated.searches.push_back(
          {request.label, request.options.microbatches, std::move(*named.search)});
    }
    simulated.timelines.push_back(simulate_schedule(std::move(named.schedule), arguments));
    return simulated.timelines.back();
  };
  TrialRuns runs = run_trials(requests, counts, simulate);
  if (counts.size() > 1) simulated.timelines.clear();
  if (!one) simulated.trials = std::move(runs.trials);
  simulated.problems = std::move(runs.problems);
  return simulated;
}

SimulatedFile simulate_file(const Arguments& arguments) {
  if (arguments.positional().empty()) {
    throw UsageError("give an experiment, a schedule file, or --schedule NAME");
  }
  if (arguments.has("sweep")) throw UsageError("--sweep is for schedules that --schedule names");
  const std::string& path = arguments.positional()[0];
  refuse_sizes(arguments, path);
  const std::string content = read_file(path);
  if (!arguments.has("from") && is_experiment(content, path)) {
    return simulate_experiment(content, path, arguments);
  }
  Timeline timeline = simulate_schedule(checked_schedule(content, path, arguments), arguments);
  note_unit_costs(arguments);
  return {std::move(timeline), std::nullopt};
}

Simulated simulated_of(const Arguments& arguments) {
  if (!arguments.has("schedule")) {
    SimulatedFile one = simulate_file(arguments);
    Simulated simulated = {.timelines = {std::move(one.timeline)}, .run = std::move(one.run)};
    if (simulated.run) simulated.problems = simulated.run->misfits;
    return simulated;
  }
  if (!arguments.positional().empty()) {
    throw UsageError("give CONFIG|SCHEDULE or --schedule, not both");
  }
  Simulated simulated = simulate_generated(arguments);
  note_unit_costs(arguments);
  return simulated;
}

nlohmann::ordered_json as_json(const Simulated& simulated) {
  const auto of = [&](const Timeline& timeline) {
    const Metrics metrics = measured(simulated, timeline);
    nlohmann::ordered_json report = report_json(timeline, metrics);
    if (simulated.run) add_estimate(*simulated.run, metrics, report);
    return report;
  };
  if (!simulated.trials) {
    nlohmann::ordered_json one = of(simulated.timelines.front());
    for (const Searched& search : simulated.searches) one["search"] = verdict_json(search.result);
    return one;
  }
  nlohmann::ordered_json all = trials_json(*simulated.trials);
  for (const Searched& search : simulated.searches) {
    nlohmann::ordered_json one = {{"schedule", search.label},
                                  {"microbatches", search.microbatches}};
    one.update(verdict_json(search.result));
    all["searches"].push_back(std::move(one));
  }
  all["schedules"] = nlohmann::ordered_json::array();
  for (const Timeline& timeline : simulated.timelines) all["schedules"].push_back(of(timeline));
  return all;
}

// The command line that made the report, without where it writes.
std::string command_of(const Arguments& arguments) {
  std::string text = "penstock simulate";
  for (const std::string& path : arguments.positional()) text += " " + path;
  for (const char* name : {"schedule", "actors", "chunks", "microbatches", "sweep", "slices",
                           "option", "costs", "costs-file", "per-actor", "p2p", "lowering",
                           "synchronization", "jitter", "seed", "slow-down", "set"}) {
    for (const std::string& value : arguments.list(name)) {
      text += fmt::format(" --{}{}{}", name, value.empty() ? "" : " ", value);
    }
  }
  return text;
}

// What a saved report assumed.
std::vector<std::pair<std::string, std::string>> facts_of(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> facts = {{"command", command_of(arguments)}};
  if (arguments.has("actors")) facts.emplace_back("actors", arguments.text("actors"));
  const std::string costs = arguments.text_or("costs", arguments.text_or("costs-file", ""));
  if (!costs.empty()) {
    facts.emplace_back(arguments.has("per-actor") ? "costs of an actor" : "costs", costs);
  } else if (arguments.has("schedule")) {
    facts.emplace_back("costs", "F=1,B=2,I=1,W=1 (none given)");
  }
  return facts;
}

std::string as_html(const Simulated& simulated, const Arguments& arguments) {
  const std::string title =
      simulated.trials ? "Schedules side by side" : simulated.timelines.front().name;
  return report_html({.title = title,
                      .timelines = simulated.timelines,
                      .facts = facts_of(arguments),
                      .trials = simulated.trials});
}

std::string as_csv(const Simulated& simulated) {
  return simulated.trials ? trials_csv(*simulated.trials) : report_csv(simulated.timelines);
}

void print_verdicts(const Simulated& simulated) {
  const bool sweeps = simulated.trials && simulated.trials->microbatches.size() > 1;
  for (const Searched& search : simulated.searches) {
    const std::string at =
        sweeps ? fmt::format("{} microbatches, ", search.microbatches) : std::string();
    say(at + verdict(search.label, search.result));
  }
}

}  // namespace

int run_simulate(const Arguments& arguments) {
  const bool to_stdout = writes_to_stdout(arguments, {"json", "csv", "html", "trace"});
  const Simulated simulated = simulated_of(arguments);
  // Before anything is written, for there may be no such actor.
  const std::string explanation =
      arguments.has("explain")
          ? explain(simulated.timelines.front(), arguments.integer_or("explain", 0))
          : std::string();
  if (arguments.has("trace")) {
    write_file(arguments.text("trace"), write_trace(simulated.timelines.front()));
  }
  if (arguments.has("html")) write_file(arguments.text("html"), as_html(simulated, arguments));
  if (arguments.has("json")) write_json(arguments.text("json"), as_json(simulated));
  if (arguments.has("csv")) write_file(arguments.text("csv"), as_csv(simulated));
  for (const Problem& problem : simulated.problems) complain(to_string(problem));
  const int code = simulated.problems.empty() ? 0 : 1;
  if (to_stdout) return code;
  if (simulated.trials) {
    say(trials_table(*simulated.trials));
  } else if (arguments.has("explain")) {
    say(explanation);
  } else {
    const Timeline& timeline = simulated.timelines.front();
    const Metrics metrics = measured(simulated, timeline);
    say(report_table(timeline, metrics));
    if (simulated.run) say(estimate_text(*simulated.run, metrics));
  }
  print_verdicts(simulated);
  return code;
}

}  // namespace penstock
