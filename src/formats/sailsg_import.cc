// Scheduled nodes as a timeline: when each of them runs.
#include <fmt/format.h>

#include "formats/imported_timeline.h"
#include "formats/kineto_clocks.h"
#include "formats/sailsg_nodes.h"
#include "penstock/check.h"
#include "penstock/scheduled_nodes.h"

namespace penstock {

ImportedStep import_nodes(std::string_view json, const std::string& where) {
  const auto ranks = read_nodes(json, where, NodeTimes::Wanted);
  ImportedStep step{.schedule = schedule_of_nodes(ranks, where)};
  std::vector<Problem> problems = check(step.schedule, where);
  if (!problems.empty()) throw Error(std::move(problems));
  std::vector<Span> spans;
  for (std::size_t actor = 0; actor < ranks.size(); ++actor) {
    for (const ScheduledNode& node : ranks[actor]) {
      spans.push_back({.op = node.op,
                       .actor = static_cast<std::int32_t>(actor),
                       .start = node.start,
                       .end = node.end});
    }
  }
  step.timeline = imported_timeline(step.schedule, std::move(spans));
  for (const EarlyUse& use : early_uses(step.timeline)) {
    step.notes.push_back(
        {where,
         fmt::format("{} starts {:.3f} us before {} ends{}", to_string(use.consumer),
                     static_cast<double>(use.by) / 1000, to_string(use.producer),
                     use.count > 1 ? fmt::format(" ({} such)", use.count) : ""),
         "the times are those of another order, or rounded"});
  }
  return step;
}

}  // namespace penstock
