#include <fmt/format.h>

#include "json_text.h"
#include "penstock/report.h"
#include "report/csv.h"
#include "report/labels.h"

namespace penstock {
namespace {

void append_row(std::string& out, const Timeline& timeline, const Metrics& metrics,
                std::size_t actor) {
  const ActorMetrics& numbers = metrics.actors[actor];
  append(out, "{},{},{},{},{},{},{},", csv_cell(timeline.name), name(timeline.source), actor,
         to_s(metrics.makespan), to_s(numbers.busy), numbers.utilization, numbers.peak_in_flight);
  if (numbers.peak_bytes > 0) out += std::to_string(numbers.peak_bytes);
  for (const Nanoseconds idle : numbers.idle) append(out, ",{}", to_s(idle));
  append(out, ",{},{}", to_s(numbers.recompute), numbers.weight_versions);
  out += "\n";
}

}  // namespace

std::string report_csv(const std::vector<Timeline>& timelines) {
  std::string out = "schedule,source,actor,makespan_s,busy_s,utilization,peak_in_flight,peak_bytes";
  for (int cause = 0; cause < kIdleCauses; ++cause) {
    append(out, ",idle_{}_s", name(static_cast<IdleCause>(cause)));
  }
  out += ",recompute_s,weight_versions";
  out += "\n";
  for (const Timeline& timeline : timelines) {
    const Metrics metrics = measure(timeline);
    for (std::size_t actor = 0; actor < metrics.actors.size(); ++actor) {
      append_row(out, timeline, metrics, actor);
    }
  }
  return out;
}

}  // namespace penstock
