#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "formats/readers.h"
#include "penstock/index.h"
#include "problem_list.h"

namespace penstock {
namespace {

// What an actor runs of a stage: first compared by steps, then by forwards.
struct Presence {
  std::int64_t steps = 0;
  std::int64_t forwards = 0;
  auto operator<=>(const Presence&) const = default;
};

// The highest numbers that an order names, and how much of each stage each actor runs.
struct Census {
  std::int32_t stages = 0;
  std::int32_t microbatches = 0;
  std::map<std::int32_t, std::int32_t> slices;  // of the microbatches with more than one
  std::map<std::pair<std::int32_t, std::int32_t>, Presence> steps;  // by (stage, actor)
};

void count(const Op& op, std::int32_t actor, Census& census) {
  census.stages = std::max(census.stages, op.stage + 1);
  census.microbatches = std::max(census.microbatches, op.microbatch + 1);
  if (op.slice > 0) {
    std::int32_t& slices = census.slices[op.microbatch];
    slices = std::max(slices, op.slice + 1);
  }
  Presence& presence = census.steps[{op.stage, actor}];
  ++presence.steps;
  if (op.kind == OpKind::Forward) ++presence.forwards;
}

// The actor that runs most of each stage, the first of equals; -1 for a stage that none runs. So an
// op that strayed to another actor does not take its stage along.
std::vector<std::int32_t> home_of_stages(const Census& census) {
  std::vector<std::int32_t> home(index(census.stages), -1);
  std::vector<Presence> most(home.size());
  for (const auto& [place, presence] : census.steps) {
    const auto stage = index(place.first);
    if (presence > most[stage]) {
      most[stage] = presence;
      home[stage] = place.second;
    }
  }
  return home;
}

// Fails when more slices are named than a file of any sense has.
std::vector<Microbatch> microbatches_of(const Census& census, const std::string& where,
                                        std::vector<Problem>& problems) {
  std::int64_t slices = 0;
  for (const auto& [microbatch, count] : census.slices) slices += count;
  if (slices > kMostItems) {
    problems.push_back({where, fmt::format("{} slices; at most {} are read", slices, kMostItems),
                        "slices of a microbatch are numbered 0, 1, 2, ..."});
    return {};
  }
  std::vector<Microbatch> microbatches(index(census.microbatches));
  for (const auto& [microbatch, count] : census.slices) {
    microbatches[index(microbatch)].slice_tokens.assign(index(count), 1);
  }
  return microbatches;
}

Pipeline pipeline_of(const Census& census, std::size_t actors, const std::string& where,
                     std::vector<Problem>& problems) {
  Pipeline pipeline;
  pipeline.actors = static_cast<std::int32_t>(actors);
  const std::vector<std::int32_t> home = home_of_stages(census);
  const auto homeless = std::count(home.begin(), home.end(), -1);
  if (homeless > 0) {
    const auto first = std::find(home.begin(), home.end(), -1) - home.begin();
    problems.push_back(
        {where,
         homeless == 1 ? fmt::format("no actor runs stage {}", first)
                       : fmt::format("no actor runs stage {} and {} others", first, homeless - 1),
         fmt::format("the highest stage is {}: every stage below it has to sit somewhere",
                     census.stages - 1)});
    return pipeline;
  }
  for (std::int32_t stage = 0; stage < census.stages; ++stage) {
    pipeline.stages.push_back({.actor = home[index(stage)], .part = stage});
  }
  Route route(pipeline.stages.size());
  std::iota(route.begin(), route.end(), 0);
  pipeline.routes = {route};
  pipeline.microbatches = microbatches_of(census, where, problems);
  return pipeline;
}

}  // namespace

Schedule schedule_from_order(std::vector<std::vector<Step>> order, const std::string& where,
                             std::vector<Problem>& problems) {
  Schedule schedule;
  schedule.order = std::move(order);
  Census census;
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    for (const Step& step : schedule.order[actor]) {
      if (is_within_limits(step.op)) {
        count(step.op, static_cast<std::int32_t>(actor), census);
      } else {
        add_problem(problems, {where, limits_message(step.op), {}});
      }
    }
  }
  if (census.stages == 0 && problems.empty())
    problems.push_back({where, "no actor has an op", "ops are written 0F0 0B0"});
  if (!problems.empty()) return schedule;
  schedule.pipeline = pipeline_of(census, schedule.order.size(), where, problems);
  return schedule;
}

namespace {

// What no order tells.
std::string learning_reason(const Learning& learning) {
  if (learning.kind == LearningKind::Local) return "its stages learn in windows";
  if (learning.kind == LearningKind::ForwardOnly) return "it is inference, without backwards";
  return "its queues are bounded";
}

std::string reason(const Pipeline& pipeline) {
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    if (pipeline.stages[stage].part != static_cast<std::int32_t>(stage)) {
      return fmt::format("stage {} holds part {}", stage, pipeline.stages[stage].part);
    }
  }
  for (std::size_t i = 0; i < pipeline.microbatches.size(); ++i) {
    const Microbatch& microbatch = pipeline.microbatches[i];
    if (microbatch.sequences != 1) {
      return fmt::format("microbatch {} has {} sequences", i, microbatch.sequences);
    }
    if (std::any_of(microbatch.slice_tokens.begin(), microbatch.slice_tokens.end(),
                    [](std::int32_t tokens) { return tokens != 1; })) {
      return fmt::format("microbatch {} has slices of given lengths", i);
    }
  }
  return "its ops do not name every stage, microbatch and slice on its own actor";
}

// What text can hold and a torch table cannot.
std::string torch_reason(const Schedule& schedule) {
  const std::vector<Microbatch>& microbatches = schedule.pipeline.microbatches;
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    if (microbatches[i].slices() > 1) {
      return fmt::format("microbatch {} has {} slices", i, microbatches[i].slices());
    }
  }
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    if (schedule.order[actor].empty()) return fmt::format("actor {} has no op", actor);
    for (const Step& step : schedule.order[actor]) {
      if (step.op.kind == OpKind::Recompute) {
        return fmt::format("actor {} runs {}: torch recomputes inside its backward", actor,
                           to_string(step.op));
      }
      if (step.op.kind == OpKind::Update) {
        return fmt::format("actor {} runs {}: torch's optimizer needs a flush, behind the last op",
                           actor, to_string(step.op));
      }
    }
  }
  return {};
}

// What text can hold and scheduled nodes cannot.
std::string sailsg_reason(const Schedule& schedule) {
  for (const std::vector<Step>& order : schedule.order) {
    for (const Step& step : order) {
      if (step.overlaps_previous) {
        return fmt::format("{} overlaps the op before it", to_string(step.op));
      }
      if (step.op.kind == OpKind::Update) {
        return fmt::format("{}: its schedules end with one update", to_string(step.op));
      }
    }
  }
  return {};
}

}  // namespace

void refuse_unless_derivable(const Schedule& schedule, Format format) {
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("schedule '{}'", shortened(schedule.name)),
                fmt::format("{} cannot hold it: {}", name(format), what), "write it as json");
  };
  const Pipeline& pipeline = schedule.pipeline;
  std::string lack;
  if (is_torch(format)) lack = torch_reason(schedule);
  if (format == Format::SailSg) lack = sailsg_reason(schedule);
  if (!lack.empty()) refuse(lack);
  if (pipeline.learning != Learning{}) refuse(learning_reason(pipeline.learning));
  if (pipeline.routes.size() != 1) {
    refuse(fmt::format("it has {} routes, where a stage feeds the one numbered after it",
                       pipeline.routes.size()));
  }
  std::vector<Problem> problems;
  const Schedule derived = schedule_from_order(schedule.order, {}, problems);
  if (problems.empty() && derived.pipeline.routes != pipeline.routes) {
    refuse("its route does not pass the stages in order");
  }
  if (!problems.empty() || derived.pipeline != pipeline) refuse(reason(pipeline));
}

}  // namespace penstock
