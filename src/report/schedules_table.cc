#include <algorithm>

#include <fmt/format.h>

#include "penstock/metrics.h"
#include "penstock/report.h"

namespace penstock {

std::string schedules_table(const std::vector<Timeline>& timelines) {
  std::size_t width = 8;
  for (const Timeline& timeline : timelines) width = std::max(width, timeline.name.size());
  std::string text = fmt::format("{:<{}}  {:>12}  {:>8}  {:>8}  {:>11}  {:>10}\n", "schedule",
                                 width, "step", "bubble", "(span)", "utilization", "in flight");
  for (const Timeline& timeline : timelines) {
    const Metrics metrics = measure(timeline);
    double in_flight = 0;
    for (const ActorMetrics& actor : metrics.actors) {
      in_flight = std::max(in_flight, actor.peak_in_flight);
    }
    text += fmt::format("{:<{}}  {:>9.3f} ms  {:>6.2f} %  {:>6.2f} %  {:>9.2f} %  {:>10.4g}\n",
                        timeline.name, width, to_ms(metrics.makespan), 100 * metrics.bubble_ratio,
                        100 * metrics.bubble_ratio_span, 100 * metrics.utilization, in_flight);
  }
  return text;
}

}  // namespace penstock
