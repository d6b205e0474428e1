#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "penstock/report.h"
#include "report/labels.h"
#include "report/text_table.h"
#include "report/units.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRows = 40;  // actors shown; the middle of a longer list is left out
constexpr std::size_t kEnds = 16;

// What fits into the table: memory when it is known, what only some schedules have, and the causes
// of which there is any, the rarest left out when the line would be too long.
struct Columns {
  bool recompute = false;
  bool memory = false;
  bool versions = false;  // of the weights
  std::vector<std::size_t> causes;
  bool others = false;  // a column for the causes left out
};

Nanoseconds total(const Metrics& metrics, std::size_t cause) {
  Nanoseconds sum = 0;
  for (const ActorMetrics& actor : metrics.actors) sum += actor.idle[cause];
  return sum;
}

std::vector<std::string> header(const Columns& columns, const TimeUnit& unit) {
  std::vector<std::string> cells = {"actor", "busy " + unit.name};
  if (columns.recompute) cells.push_back("again");
  cells.insert(cells.end(), {"util %", "in flight"});
  if (columns.memory) cells.push_back("memory");
  if (columns.versions) cells.push_back("versions");
  for (const std::size_t cause : columns.causes) {
    cells.emplace_back(name(static_cast<IdleCause>(cause)));
  }
  if (columns.others) cells.push_back("other");
  return cells;
}

std::vector<std::string> row(const Columns& columns, const TimeUnit& unit, std::size_t index,
                             const Metrics& metrics) {
  const ActorMetrics& actor = metrics.actors[index];
  std::vector<std::string> cells = {std::to_string(index),
                                    show_in(unit, actor.busy, metrics.makespan)};
  if (columns.recompute) cells.push_back(show_in(unit, actor.recompute, metrics.makespan));
  cells.push_back(fmt::format("{:.1f}", 100 * actor.utilization));
  cells.push_back(show_number(actor.peak_in_flight));
  if (columns.memory) cells.push_back(show_bytes(actor.peak_bytes));
  if (columns.versions) cells.push_back(std::to_string(actor.weight_versions));
  Nanoseconds rest = std::accumulate(actor.idle.begin(), actor.idle.end(), Nanoseconds{0});
  for (const std::size_t cause : columns.causes) {
    cells.push_back(show_in(unit, actor.idle[cause], metrics.makespan));
    rest -= actor.idle[cause];
  }
  if (columns.others) cells.push_back(show_in(unit, rest, metrics.makespan));
  return cells;
}

TextTable actor_table(const Columns& columns, const Metrics& metrics) {
  const TimeUnit unit = time_unit(metrics.makespan);
  TextTable table(header(columns, unit));
  const std::size_t count = metrics.actors.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostRows && i == kEnds) {
      table.add({fmt::format("... {} more", count - 2 * kEnds)});
      i = count - kEnds;
    }
    table.add(row(columns, unit, i, metrics));
  }
  return table;
}

Columns fitting_columns(const Metrics& metrics, int width) {
  Columns columns;
  for (const ActorMetrics& actor : metrics.actors) {
    columns.recompute |= actor.recompute > 0;
    columns.memory |= actor.peak_bytes > 0;
    columns.versions |= actor.weight_versions > 1;
  }
  for (std::size_t cause = 0; cause < kIdleCauses; ++cause) {
    if (total(metrics, cause) > 0) columns.causes.push_back(cause);
  }
  while (actor_table(columns, metrics).width() > width && !columns.causes.empty()) {
    const auto rarest = std::min_element(
        columns.causes.begin(), columns.causes.end(),
        [&metrics](std::size_t a, std::size_t b) { return total(metrics, a) < total(metrics, b); });
    columns.causes.erase(rarest);
    columns.others = true;
  }
  return columns;
}

// What the column "other" holds, or nothing.
std::string note_on_others(const Columns& columns, const Metrics& metrics, int width) {
  if (!columns.others) return {};
  std::string note = "other:";
  for (std::size_t cause = 0; cause < kIdleCauses; ++cause) {
    const bool shown =
        std::find(columns.causes.begin(), columns.causes.end(), cause) != columns.causes.end();
    if (shown || total(metrics, cause) == 0) continue;
    note +=
        fmt::format("{} {}", note.back() == ':' ? "" : ",", name(static_cast<IdleCause>(cause)));
  }
  return cut(note, width) + "\n";
}

// Whether the step overlaps the next one: its optimizer's step is verified there.
bool validates_later(const Timeline& timeline) {
  return std::any_of(timeline.spans.begin(), timeline.spans.end(),
                     [](const Span& span) { return span.kind == ActionKind::Verdict; });
}

// "step 117.0 ms   bubble 17.9 %   ..."; broken where a line is full.
std::string summary(const Metrics& metrics, bool overlaps, int columns) {
  std::vector<std::string> facts = {
      (overlaps ? "period " : "step ") + show_time(metrics.makespan),
      "utilization " + show_percent(metrics.utilization),
      "bubble " + show_percent(metrics.bubble_ratio),
      "span bubble " + show_percent(metrics.bubble_ratio_span),
      "bubble/ideal " + show_percent(metrics.bubble_over_ideal),
  };
  if (metrics.tokens_per_s) facts.push_back(fmt::format("{:.0f} tokens/s", *metrics.tokens_per_s));
  if (metrics.mfu) facts.push_back("MFU " + show_percent(*metrics.mfu));
  std::vector<WrappedPiece> pieces;
  for (const std::string& fact : facts) pieces.push_back({fact, fact.size()});
  return wrapped(pieces, "   ", columns) + "\n";
}

}  // namespace

std::string report_table(const Timeline& timeline, const Metrics& metrics, int columns) {
  const bool overlaps = validates_later(timeline);
  const std::string title = fmt::format("{} ({}{}): {}", timeline.name, name(timeline.source),
                                        overlaps ? ", post-validation" : "", sizes(timeline));
  const Columns fitting = fitting_columns(metrics, columns);
  return cut(title, columns) + "\n\n" + actor_table(fitting, metrics).text() +
         note_on_others(fitting, metrics, columns) + "\n" + summary(metrics, overlaps, columns);
}

}  // namespace penstock
