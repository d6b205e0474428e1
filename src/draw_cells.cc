#include "draw_cells.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "report/labels.h"
#include "report/units.h"

namespace penstock {
namespace {

constexpr std::array<LookRow, kLooks> kLookRows = {{
    {'F', '-', "forward", 231, {25, 68}, "#0072b2", "#ffffff"},
    {'B', '=', "backward", 16, {214, 222}, "#e69f00", "#000000"},
    {'I', '~', "input gradient", 16, {74, 117}, "#56b4e9", "#000000"},
    {'W', '+', "weight gradient", 16, {36, 79}, "#009e73", "#000000"},
    {'&', '#', "overlapped pair", 16, {175, 182}, "#cc79a7", "#000000"},
    {'U', '*', "step end (Reduce, Norm, Update)", 16, {245, 250}, "#999999", "#000000"},
}};

Look look_of(const Span& span) {
  return span.kind == ActionKind::Compute ? static_cast<Look>(span.op.kind) : Look::StepEnd;
}

char small(char capital) {
  return static_cast<char>(capital - 'A' + 'a');
}

std::string part_label(const CellPart& part, bool with_stage) {
  std::string text = label(part.span);
  if (part.span.kind != ActionKind::Compute || with_stage) return text;
  text.erase(0, text.find_first_not_of("0123456789"));
  if (part.is_later_stage) text[0] = small(text[0]);
  return text;
}

// The lowest stage of each actor; -1 for an actor without one.
std::vector<std::int32_t> first_stages(const Timeline& timeline) {
  std::vector<std::int32_t> first(static_cast<std::size_t>(timeline.actors), -1);
  for (std::size_t stage = 0; stage < timeline.stages.size(); ++stage) {
    std::int32_t& lowest = first[static_cast<std::size_t>(timeline.stages[stage].actor)];
    if (lowest < 0) lowest = static_cast<std::int32_t>(stage);
  }
  return first;
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
  Nanoseconds begin = timeline.spans[0].start;
  Nanoseconds end = timeline.spans[0].end;
  for (const Span& span : timeline.spans) {
    begin = std::min(begin, span.start);
    end = std::max(end, span.end);
  }
  chart.length = end - begin;
  const std::vector<std::int32_t> first = first_stages(timeline);
  for (const Span& span : timeline.spans) {
    const bool is_later = span.kind == ActionKind::Compute &&
                          span.op.stage != first[static_cast<std::size_t>(span.actor)];
    chart.has_chunks = chart.has_chunks || is_later;
    add_part({span, is_later}, begin, chart.cells);
  }
  std::stable_sort(chart.cells.begin(), chart.cells.end(), [](const Cell& a, const Cell& b) {
    return std::pair(a.actor, a.start) < std::pair(b.actor, b.start);
  });
  chart.looks = looks_of(chart.cells);
  return chart;
}

std::string label(const Cell& cell, bool with_stage) {
  std::string text = part_label(cell.parts[0], with_stage);
  if (cell.parts.size() > 1) text += ';' + part_label(cell.parts[1], with_stage);
  return text;
}

char letter(const Cell& cell) {
  if (cell.look == Look::Pair) return row_of(cell.look).letter;
  if (cell.look != Look::StepEnd) return part_label(cell.parts[0], false)[0];
  return static_cast<char>(label(cell.parts[0].span)[0] - 'a' + 'A');
}

bool is_later_stage(const Cell& cell) {
  return cell.parts[0].is_later_stage;
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
  const auto counted = [](std::int32_t count, const char* noun, const char* plural) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
  };
  const std::string facts = fmt::format("{}, {}, {} {}", counted(timeline.actors, "actor", "s"),
                                        counted(timeline.microbatches, "microbatch", "es"),
                                        show_time(chart.length), name(timeline.source));
  std::string head = timeline.name;
  for (char& c : head) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  constexpr std::string_view kCut = "..";
  const std::size_t room = columns - std::min(columns, facts.size() + 2);
  if (head.size() > room) head = head.substr(0, room - std::min(room, kCut.size())).append(kCut);
  if (head.empty() || room < kCut.size()) return facts;
  return fmt::format("{}: {}", head, facts);
}

}  // namespace penstock
