#include "report/draw_cells.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lanes.h"
#include "report/labels.h"
#include "report/units.h"
#include "utf8.h"

namespace penstock {
namespace {

// The colours of kinds are those of the HTML page (page/theme.js).
constexpr std::array<LookRow, kLooks> kLookRows = {{
    {'F', '-', "forward", 16, {74, 117}, "#56b4e9", "#000000"},
    {'B', '=', "backward", 16, {214, 222}, "#e69f00", "#000000"},
    {'I', '~', "input gradient", 16, {175, 182}, "#cc79a7", "#000000"},
    {'W', '+', "weight gradient", 16, {36, 79}, "#009e73", "#000000"},
    {'R', '%', "recompute", 16, {203, 210}, "#d55e00", "#000000"},
    {'U', ':', "update", 16, {245, 250}, "#a6a9ad", "#000000"},
    {'&', '#', "overlapped pair", 231, {25, 68}, "#0072b2", "#ffffff"},
    {'U', '*', "step end (Reduce, Norm, Update)", 16, {245, 250}, "#a6a9ad", "#000000"},
}};

Look look_of(const Span& span) {
  return span.kind == ActionKind::Compute ? static_cast<Look>(span.op.kind) : Look::StepEnd;
}

char small(char capital) {
  return static_cast<char>(capital - 'A' + 'a');
}

// Whether a stage is not the first of its route on its actor; by stage.
std::vector<bool> later_stages(const Timeline& timeline) {
  std::vector<bool> later;
  std::set<std::pair<std::int32_t, std::int32_t>> passed;  // actors and routes
  for (const TimelineStage& stage : timeline.stages) {
    later.push_back(!passed.insert({stage.actor, stage.route}).second);
  }
  return later;
}

// Starts a cell with `part`, or joins it to the pair that it completes.
void add_part(const CellPart& part, Nanoseconds begin, std::vector<Cell>& cells) {
  const Span& span = part.span;
  const bool joins = span.overlaps_previous && !cells.empty() && cells.back().actor == span.actor &&
                     cells.back().parts.size() == 1;
  if (!joins) {
    cells.push_back({span.actor, span.start - begin, span.end - begin, look_of(span), {part}});
    return;
  }
  Cell& cell = cells.back();
  cell.start = std::min(cell.start, span.start - begin);
  cell.end = std::max(cell.end, span.end - begin);
  cell.look = Look::Pair;
  cell.parts.push_back(part);
}

std::vector<Look> looks_of(const std::vector<Cell>& cells) {
  std::vector<Look> looks;
  for (int i = 0; i < kLooks; ++i) {
    const Look look = static_cast<Look>(i);
    const auto shows = [&](const Cell& cell) { return cell.look == look && cell.end > cell.start; };
    if (std::any_of(cells.begin(), cells.end(), shows)) looks.push_back(look);
  }
  return looks;
}

}  // namespace

const LookRow& row_of(Look look) {
  return kLookRows[static_cast<std::size_t>(look)];
}

Chart chart_of(const Timeline& timeline) {
  Chart chart;
  if (timeline.spans.empty()) return chart;
  const Window window = window_of(timeline);
  chart.length = window.end - window.begin;
  const std::vector<bool> later = later_stages(timeline);
  for (const Span& span : timeline.spans) {
    CellPart part{span};
    if (span.kind == ActionKind::Compute) {
      const auto stage = static_cast<std::size_t>(span.op.stage);
      part.is_later_stage = later[stage];
      part.is_other_route = timeline.stages[stage].route != 0;
    }
    chart.has_chunks = chart.has_chunks || part.is_later_stage;
    chart.has_routes = chart.has_routes || part.is_other_route;
    add_part(part, window.begin, chart.cells);
  }
  std::stable_sort(chart.cells.begin(), chart.cells.end(), [](const Cell& a, const Cell& b) {
    return std::pair(a.actor, a.start) < std::pair(b.actor, b.start);
  });
  chart.looks = looks_of(chart.cells);
  return chart;
}

std::string label(const CellPart& part, bool with_stage) {
  std::string text = label(part.span);
  if (part.span.kind != ActionKind::Compute || with_stage) return text;
  text.erase(0, text.find_first_not_of("0123456789"));
  if (part.is_later_stage) text[0] = small(text[0]);
  return text;
}

std::string label(const Cell& cell, bool with_stage) {
  std::string text = label(cell.parts[0], with_stage);
  if (cell.parts.size() > 1) text += ';' + label(cell.parts[1], with_stage);
  return text;
}

char letter(const Cell& cell) {
  if (cell.look == Look::Pair) return row_of(cell.look).letter;
  if (cell.look != Look::StepEnd) return label(cell.parts[0], false)[0];
  return static_cast<char>(label(cell.parts[0].span)[0] - 'a' + 'A');
}

bool is_later_stage(const Cell& cell) {
  return cell.parts[0].is_later_stage;
}

bool is_other_route(const Cell& cell) {
  return cell.parts.size() == 1 && cell.parts[0].is_other_route;
}

std::vector<Nanoseconds> ticks(const Chart& chart, double gap) {
  double power = 1;
  while (power * 10 <= gap) power *= 10;
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= gap) step = factor * power;
  }
  std::vector<Nanoseconds> times = {0};
  while (step <= static_cast<double>(chart.length - times.back())) {
    times.push_back(times.back() + static_cast<Nanoseconds>(step));
  }
  return times;
}

std::string title(const Timeline& timeline, const Chart& chart, std::size_t columns) {
  const std::string facts =
      fmt::format("{}, {} {}", sizes(timeline), show_time(chart.length), name(timeline.source));
  std::string head = printable(timeline.name);
  constexpr std::string_view kCut = "..";
  const std::size_t room = columns - std::min(columns, facts.size() + 2);
  if (head.size() > room) {
    head = std::string(clipped(head, room - std::min(room, kCut.size()))).append(kCut);
  }
  if (head.empty() || room < kCut.size()) return facts;
  return fmt::format("{}: {}", head, facts);
}

}  // namespace penstock
