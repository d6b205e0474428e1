#include <cmath>

#include <fmt/format.h>

#include "penstock/report.h"
#include "report/comparison.h"
#include "report/labels.h"
#include "report/text_table.h"
#include "report/units.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRows = 32;  // actors and stages listed; JSON holds them all

std::string shown_difference(const Both& both) {
  const std::optional<double> percent = difference(both);
  return percent ? show_difference(*percent) : "-";
}

// Of two ratios, in points: per cent of per cents would mislead.
std::vector<std::string> ratio_row(const std::string& what, double a, double b) {
  return {what, show_percent(a), show_percent(b), show_points(b - a)};
}

template <typename Show>
std::vector<std::string> row(const std::string& what, const Both& both, Show show) {
  return {what, both.a ? show(*both.a) : "-", both.b ? show(*both.b) : "-", shown_difference(both)};
}

std::string time_of(double nanoseconds) {
  return show_time(std::llround(nanoseconds));
}

std::string side_name(const Timeline& timeline, char letter, bool same_source) {
  return same_source ? fmt::format("{} ({})", letter, name(timeline.source))
                     : std::string(name(timeline.source));
}

void add_step(TextTable& table, const Comparison& both) {
  const auto ns = [](Nanoseconds t) { return std::optional(static_cast<double>(t)); };
  table.add(row("step", {ns(both.a.makespan), ns(both.b.makespan)}, time_of));
  table.add(ratio_row("utilization", both.a.utilization, both.b.utilization));
  table.add(ratio_row("bubble", both.a.bubble_ratio, both.b.bubble_ratio));
  if (both.a.tokens_per_s || both.b.tokens_per_s) {
    table.add(row("tokens/s", {both.a.tokens_per_s, both.b.tokens_per_s},
                  [](double rate) { return fmt::format("{:.0f}", rate); }));
  }
  if (both.transfer.a || both.transfer.b) {
    table.add(row("mean transfer", both.transfer, time_of));
  }
  for (const KindComparison& kind : both.kinds) {
    table.add(row("mean " + kind.kind, kind.mean, time_of));
  }
}

void add_actors(TextTable& table, const Comparison& both) {
  const std::size_t rows = std::min(both.actors.size(), kMostRows);
  for (std::size_t actor = 0; actor < rows; ++actor) {
    table.add(row(fmt::format("actor {} busy", actor), both.actors[actor].busy, time_of));
    table.add(row(fmt::format("actor {} idle", actor), both.actors[actor].idle, time_of));
  }
}

void add_stages(TextTable& table, const Comparison& both) {
  const std::size_t rows = std::min(both.stages.size(), kMostRows);
  for (std::size_t stage = 0; stage < rows; ++stage) {
    for (const KindComparison& kind : both.stages[stage]) {
      table.add(row(fmt::format("stage {} mean {}", stage, kind.kind), kind.mean, time_of));
    }
  }
}

}  // namespace

std::string compare_table(const Timeline& a, const Timeline& b, int columns) {
  const Comparison both = compare(a, b);
  const bool same_source = a.source == b.source;
  std::string text = cut(a.name == b.name ? a.name : a.name + " and " + b.name, columns) + "\n\n";
  TextTable table({"", side_name(a, 'a', same_source), side_name(b, 'b', same_source),
                   same_source ? "b - a" : "difference"});
  add_step(table, both);
  add_actors(table, both);
  add_stages(table, both);
  text += table.text();
  if (both.actors.size() > kMostRows || both.stages.size() > kMostRows) {
    text += fmt::format("(the first {}; --json has all)\n", kMostRows);
  }
  if (both.error_percent) {
    text += fmt::format("\nprediction error {} of the measured step\n",
                        show_difference(*both.error_percent));
  }
  if (both.only_a + both.only_b > 0) {
    text += fmt::format("\nnot the same schedule: {} ops only in a, {} only in b\n", both.only_a,
                        both.only_b);
  }
  return text;
}

}  // namespace penstock
