#include "penstock/draw.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "penstock/index.h"
#include "report/draw_cells.h"
#include "report/draw_scale.h"
#include "report/text_table.h"
#include "report/units.h"

namespace penstock {
namespace {

// One column of a row: its character and how it looks (-1: idle).
struct Glyph {
  char character = ' ';
  std::int32_t look = -1;
  bool is_later_stage = false;
  bool is_underlined = false;  // another route
};
using Row = std::vector<Glyph>;

// The longest of the cell's names that fits; in colour, a microbatch's number says more than a
// letter.
std::string name_within(const Cell& cell, const Scale& scale, int width, bool color) {
  std::vector<std::string> names = {label(cell, scale.shows_stages)};
  if (color && cell.parts.size() == 1 && cell.parts[0].span.kind == ActionKind::Compute) {
    names.push_back(std::to_string(cell.parts[0].span.op.microbatch));
  }
  names.emplace_back(1, letter(cell));
  for (const std::string& name : names) {
    if (static_cast<int>(name.size()) <= width) return name;
  }
  return {};
}

// Without colour, what fills an op that is on another route.
constexpr char kOtherRoute = '<';

// Whether a column of the cell belongs to an op on another route: all of a single op's do, and of a
// pair those that name the op.
bool is_other_route_at(const Cell& cell, bool with_stage, const std::string& name,
                       std::size_t column) {
  if (cell.parts.size() == 1) return is_other_route(cell);
  if (name != label(cell, with_stage)) return false;
  const std::size_t seam = label(cell.parts[0], with_stage).size();
  if (column == seam || column >= name.size()) return false;
  return cell.parts[column < seam ? 0 : 1].is_other_route;
}

void draw_cell(const Cell& cell, const Scale& scale, bool color, Row& row) {
  const int begin = scale.at(cell.start);
  const int end = std::min(scale.at(cell.end), scale.columns);
  const std::string name = name_within(cell, scale, end - begin, color);
  const char fill = is_other_route(cell) ? kOtherRoute : row_of(cell.look).fill;
  for (int i = begin; i < end; ++i) {
    const auto column = index(i - begin);
    row[index(i)] = {column < name.size() ? name[column] : (color ? ' ' : fill),
                     static_cast<std::int32_t>(cell.look), is_later_stage(cell),
                     is_other_route_at(cell, scale.shows_stages, name, column)};
  }
}

// How much of a column each look takes, and with which letter.
struct Mix {
  std::array<double, kLooks + 1> share = {};  // last: idle
  std::array<Glyph, kLooks + 1> glyph = {};
};

std::vector<Mix> mixes(std::span<const Cell> cells, const Scale& scale) {
  std::vector<Mix> mixes(index(scale.columns));
  for (Mix& mix : mixes) mix.share[kLooks] = 1;
  for (const Cell& cell : cells) {
    const double begin = static_cast<double>(cell.start) / scale.column;
    const double end = static_cast<double>(cell.end) / scale.column;
    const auto look = static_cast<std::size_t>(cell.look);
    for (int i = static_cast<int>(begin); i < scale.columns && i < end; ++i) {
      const double covered = std::min(end, i + 1.0) - std::max(begin, static_cast<double>(i));
      Mix& mix = mixes[index(i)];
      mix.share[look] += covered;
      mix.share[kLooks] -= covered;
      mix.glyph[look] = {letter(cell), static_cast<std::int32_t>(look), is_later_stage(cell),
                         is_other_route(cell)};
    }
  }
  return mixes;
}

// Each column shows one of the looks in it, and what it does not show is owed to the columns after:
// so the looks keep their proportions, also where ops and columns beat against each other.
Row draw_overview(std::span<const Cell> cells, const Scale& scale) {
  constexpr double kNothing = 1e-9;
  Row row;
  std::array<double, kLooks + 1> owed = {};
  for (const Mix& mix : mixes(cells, scale)) {
    std::size_t best = kLooks;
    for (std::size_t look = 0; look <= kLooks; ++look) {
      owed[look] += mix.share[look];
      if (mix.share[look] < kNothing) continue;
      if (mix.share[best] < kNothing || owed[look] > owed[best] + kNothing) best = look;
    }
    owed[best] -= 1;
    row.push_back(mix.glyph[best]);
  }
  return row;
}

std::string painted(const Row& row, bool color) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool same = i > 0 && row[i].look == row[i - 1].look &&
                      row[i].is_later_stage == row[i - 1].is_later_stage &&
                      row[i].is_underlined == row[i - 1].is_underlined;
    if (color && !same) {
      if (i > 0 && row[i - 1].look >= 0) text += "\x1b[0m";
      if (row[i].look >= 0) {
        const LookRow& look = row_of(static_cast<Look>(row[i].look));
        text += fmt::format("\x1b[{}38;5;{};48;5;{}m", row[i].is_underlined ? "4;" : "",
                            look.terminal_ink, look.terminal_ground[row[i].is_later_stage ? 1 : 0]);
      }
    }
    text += row[i].character;
  }
  if (color && !row.empty() && row.back().look >= 0) text += "\x1b[0m";
  return text;
}

// "|0        |5        |10": a tick stands at the left edge of its column.
std::string axis(const Chart& chart, const Scale& scale) {
  constexpr int kLeastGap = 9;
  const TimeUnit unit = time_unit(chart.length);
  std::string line;
  for (const Nanoseconds t : ticks(chart, scale.column * kLeastGap)) {
    const std::string tick = fmt::format("|{:.6g}", static_cast<double>(t) / unit.nanoseconds);
    const auto at = index(scale.at(t));
    if (at < line.size() + (line.empty() ? 0 : 1)) continue;
    if (at + tick.size() > index(scale.columns)) break;
    line.resize(at, ' ');
    line += tick;
  }
  return line;
}

Row row_of_actor(std::span<const Cell> cells, const Scale& scale, bool color) {
  if (scale.is_overview) return draw_overview(cells, scale);
  Row row(index(scale.columns));
  for (const Cell& cell : cells) draw_cell(cell, scale, color, row);
  return row;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string clipped(std::string line, int columns) {
  const auto most = index(std::max(columns, 0));
  if (line.size() > most) line.resize(most);
  return line;
}

std::vector<std::string> notes_of(const Chart& chart, const Scale& scale, bool color) {
  std::vector<std::string> notes;
  if (scale.is_overview) {
    notes.push_back("a column shows one of the ops in it, all in proportion");
  } else if (!chart.looks.empty()) {
    notes.push_back(scale.shows_stages ? "3F5: stage 3, microbatch 5" : "F5: microbatch 5");
  }
  if (chart.has_chunks && !scale.shows_stages) {
    notes.push_back(color ? "paler: a later stage of the actor"
                          : "small: a later stage of the actor");
  }
  if (chart.has_routes && color) {
    notes.push_back("underlined: on another route");
  } else if (chart.has_routes && !scale.is_overview) {
    notes.push_back(fmt::format("F5{}: on another route", kOtherRoute));
  }
  return notes;
}

// What the letters mean.
std::string legend(const Chart& chart, const Scale& scale, const DrawOptions& options) {
  std::vector<WrappedPiece> pieces;
  const auto add = [&](const std::string& plain, const std::string& shown) {
    const bool fits = static_cast<int>(plain.size()) <= options.columns;
    pieces.push_back({fits ? shown : clipped(plain, options.columns), plain.size()});
  };
  for (const Look look : chart.looks) {
    const LookRow& row = row_of(look);
    const Glyph glyph{row.letter, static_cast<std::int32_t>(look)};
    const std::string name = fmt::format(" {}", row.name);
    add(row.letter + name, painted({glyph}, options.color) + name);
  }
  for (const std::string& note : notes_of(chart, scale, options.color)) add(note, note);
  return pieces.empty() ? "" : wrapped(pieces, "  ", options.columns) + '\n';
}

// Title and scale, on one line where both fit.
std::string heading(const Timeline& timeline, const Chart& chart, const Scale& scale, int columns) {
  const TimeUnit unit = time_unit(chart.length);
  const std::string left = title(timeline, chart, index(std::max(columns, 0)));
  const std::string right =
      fmt::format("1 column = {:.4g} {}", scale.column / unit.nanoseconds, unit.name);
  const std::size_t both = left.size() + 2 + right.size();
  if (both > index(std::max(columns, 0))) {
    return clipped(left, columns) + '\n' + clipped(right, columns) + '\n';
  }
  return left + std::string(index(columns) - both + 2, ' ') + right + '\n';
}

}  // namespace

std::string draw(const Timeline& timeline, const DrawOptions& options) {
  const Chart chart = chart_of(timeline);
  const std::size_t margin = std::to_string(std::max(timeline.actors - 1, 0)).size() + 1;
  const int width = std::max(options.columns - static_cast<int>(margin), 1);
  const Scale scale = scale_of(chart, width);
  std::string text = heading(timeline, chart, scale, options.columns);
  text += trimmed(std::string(margin, ' ') + axis(chart, scale)) + '\n';
  auto begin = chart.cells.begin();
  for (std::int32_t actor = 0; actor < timeline.actors; ++actor) {
    const auto end = std::find_if(begin, chart.cells.end(),
                                  [&](const Cell& cell) { return cell.actor != actor; });
    const Row row = row_of_actor({begin, end}, scale, options.color);
    begin = end;
    text += trimmed(fmt::format("{:>{}} {}", actor, margin - 1, painted(row, options.color)));
    text += '\n';
  }
  return text + legend(chart, scale, options);
}

}  // namespace penstock
