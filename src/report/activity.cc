#include "report/activity.h"

#include <algorithm>
#include <cmath>

#include "json_text.h"
#include "penstock/index.h"
#include "report/labels.h"

namespace penstock {
namespace {

constexpr std::size_t kMostNumbers = 200'000;

// Adds the part of [start, end) that falls into each bin, in bins.
void spread(std::vector<double>& row, double start, double end) {
  const double count = static_cast<double>(row.size());
  start = std::clamp(start, 0.0, count);
  end = std::clamp(end, start, count);
  for (auto bin = static_cast<std::size_t>(start); bin < row.size(); ++bin) {
    const auto left = static_cast<double>(bin);
    if (left >= end) break;
    row[bin] += std::min(end, left + 1) - std::max(start, left);
  }
}

}  // namespace

std::vector<std::vector<int>> activity(const Timeline& timeline, Nanoseconds until,
                                       std::size_t bins) {
  const auto actors = index(timeline.actors);
  std::vector<std::vector<double>> share(actors, std::vector<double>(bins, 0));
  const double scale = until > 0 ? static_cast<double>(bins) / static_cast<double>(until) : 0;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    if (!is_work(span.kind)) continue;
    Nanoseconds start = span.start;
    if (span.overlaps_previous && i > 0) start = std::max(start, timeline.spans[i - 1].end);
    if (start >= span.end) continue;
    spread(share[index(span.actor)], static_cast<double>(start) * scale,
           static_cast<double>(span.end) * scale);
  }
  std::vector<std::vector<int>> percent(actors);
  for (std::size_t actor = 0; actor < actors; ++actor) {
    for (const double part : share[actor]) {
      percent[actor].push_back(static_cast<int>(std::lround(100 * std::min(part, 1.0))));
    }
  }
  return percent;
}

void append_activity(std::string& out, const Timeline& timeline, Nanoseconds until) {
  const auto actors = index(std::max(timeline.actors, 1));
  const std::size_t bins = std::clamp<std::size_t>(kMostNumbers / actors, 20, 600);
  out += "\"activity\":[";
  Commas commas;
  for (const std::vector<int>& row : activity(timeline, until, bins)) {
    append(out, "{}[{}]", commas.next(), fmt::join(row, ","));
  }
  out += "]";
}

}  // namespace penstock
