#include "request.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace penstock {
namespace {

constexpr std::int64_t kMostUnits = 50'000;

// One op of each kind that every stage must have a duration for.
Schedule asked_for(const SearchOptions& options) {
  Schedule schedule{.name = {},
                    .pipeline = loop_pipeline(options.actors, options.chunks, options.microbatches),
                    .order = {{}}};
  std::vector<OpKind> kinds = {OpKind::Forward, OpKind::Backward};
  if (options.split == true) {
    kinds = {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight};
  }
  for (std::size_t stage = 0; stage < schedule.pipeline.stages.size(); ++stage) {
    for (const OpKind kind : kinds) {
      schedule.order[0].push_back({{kind, static_cast<std::int32_t>(stage), 0, 0}});
    }
  }
  return schedule;
}

std::vector<Problem> size_faults(const SearchOptions& options) {
  std::vector<Problem> problems;
  const std::pair<const char*, std::int64_t> sizes[] = {{"actors", options.actors},
                                                        {"chunks", options.chunks},
                                                        {"microbatches", options.microbatches},
                                                        {"budget", options.budget}};
  for (const auto& [what, size] : sizes) {
    if (size < 1) problems.push_back({what, fmt::format("{} is below 1", size), "at least 1"});
  }
  if (!problems.empty()) return problems;
  const double units = static_cast<double>(options.actors) * options.chunks * options.microbatches;
  if (units > static_cast<double>(kMostUnits)) {
    problems.push_back(
        {"microbatches",
         fmt::format("{} actors, {} chunks and {} microbatches make more than {} forwards",
                     options.actors, options.chunks, options.microbatches, kMostUnits),
         "search with fewer microbatches"});
  }
  return problems;
}

template <class Value>
void check_limits(const std::vector<Value>& limits, const char* what, std::int32_t actors,
                  std::vector<Problem>& problems) {
  if (limits.size() <= 1 || limits.size() == static_cast<std::size_t>(actors)) return;
  problems.push_back({what, fmt::format("{} values are given for {} actors", limits.size(), actors),
                      "one for all, or one for each"});
}

// A limit on bytes that nothing takes up would be no limit.
void check_bytes(const CostTable& costs, const SearchOptions& options,
                 std::vector<Problem>& problems) {
  const auto takes_room = [](const StageCosts& stage) {
    return stage.activation_bytes > 0 || stage.weight_bytes > 0;
  };
  if (options.bytes.empty() || std::any_of(costs.stages.begin(), costs.stages.end(), takes_room)) {
    return;
  }
  problems.push_back({"memory_bytes", "the costs do not say how many bytes a stage holds",
                      "activation_bytes and weight_bytes in a file, activation= and weight= in "
                      "--costs; or limit the microbatches in flight: memory"});
}

}  // namespace

CostTable costs_for(const CostTable& given, const SearchOptions& options,
                    const Pipeline& pipeline) {
  return options.whole_actors ? share_costs(given, pipeline) : costs_of_copies(given, pipeline);
}

std::vector<Problem> faults(const CostTable& costs, const SearchOptions& options) {
  std::vector<Problem> problems = size_faults(options);
  if (!problems.empty()) return problems;
  check_limits(options.in_flight, "memory", options.actors, problems);
  check_limits(options.bytes, "memory_bytes", options.actors, problems);
  check_bytes(costs, options, problems);
  if (!costs.links.empty()) {
    problems.push_back({"costs", "the search does not know links that messages share",
                        "leave them out, and simulate what it finds with them"});
  }
  const Schedule asked = asked_for(options);
  if (options.whole_actors && std::ssize(costs.stages) != options.actors) {
    problems.push_back({"costs",
                        fmt::format("costs of {} actors are given, {} are searched",
                                    costs.stages.size(), options.actors),
                        "one entry for each actor"});
    return problems;
  }
  for (Problem& problem : missing_costs(costs_for(costs, options, asked.pipeline), asked)) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

std::vector<Pipeline> placements(const SearchOptions& options) {
  std::vector<Pipeline> pipelines;
  const auto add = [&](Pipeline pipeline) {
    if (pipelines.empty() || pipelines[0] != pipeline) pipelines.push_back(std::move(pipeline));
  };
  if (options.placement != StagePlacement::V) {
    add(loop_pipeline(options.actors, options.chunks, options.microbatches));
  }
  if (options.placement != StagePlacement::Loop) {
    add(v_pipeline(options.actors, options.chunks, options.microbatches));
  }
  return pipelines;
}

}  // namespace penstock
