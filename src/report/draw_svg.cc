#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "penstock/draw.h"
#include "report/draw_cells.h"
#include "report/labels.h"
#include "report/markup.h"
#include "report/units.h"

namespace penstock {
namespace {

// Pixels of the drawing at its natural size.
constexpr double kMargin = 56;  // left of the lanes, for the actors' names
constexpr double kWidth = 1100;
constexpr double kTop = 56;  // above the lanes, for title and axis
constexpr double kLane = 30;
constexpr double kBar = 24;
constexpr double kLetter = 6.6;  // width of a character of a label

constexpr std::string_view kStyle = R"(<style>
  svg { background: #ffffff; font: 11px ui-monospace, monospace; }
  text { fill: #1a1a1a; }
  .title { font: 600 14px system-ui, sans-serif; }
  .note { font: 12px system-ui, sans-serif; }
  .lane { fill: #f1f1f1; }
  .tick { stroke: #cccccc; }
  rect.op { stroke: #ffffff; stroke-width: 1; }
  .later { fill-opacity: .65; }
  .way { text-decoration: underline; }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c; }
    text { fill: #e8e8e8; }
    .lane { fill: #24272d; }
    .tick { stroke: #464b54; }
    rect.op { stroke: #16181c; }
    .later { fill-opacity: .75; }
  }
)";

std::string style(const Chart& chart) {
  std::string text(kStyle);
  for (const Look look : chart.looks) {
    const LookRow& row = row_of(look);
    text += fmt::format("  .look{0} {{ fill: {1}; }}\n  text.ink{0} {{ fill: {2}; }}\n",
                        static_cast<int>(look), row.ground, row.ink);
  }
  // A bar's name follows it; on paler ground it takes the ink of the page.
  text += "  .later + text { fill: #000000; }\n";
  text += "  @media (prefers-color-scheme: dark) { .later + text { fill: #ffffff; } }\n";
  return text + "</style>\n";
}

double x_of(Nanoseconds t, const Chart& chart) {
  const double length = static_cast<double>(std::max<Nanoseconds>(chart.length, 1));
  return kMargin + kWidth * static_cast<double>(t) / length;
}

// What hovering over a cell tells.
std::string tooltip(const Cell& cell) {
  std::string text;
  for (const CellPart& part : cell.parts) {
    if (!text.empty()) text += "\n";
    const Span& span = part.span;
    text += label(span);
    if (span.kind != ActionKind::Compute) continue;
    text += fmt::format(": {} of stage {}, microbatch {}", name(span.op.kind), span.op.stage,
                        span.op.microbatch);
    if (span.op.slice != 0) text += fmt::format(", slice {}", span.op.slice);
    if (part.is_other_route) text += ", on another route";
  }
  return fmt::format("{}\n{} from {} to {}", text, show_time(cell.end - cell.start),
                     show_time(cell.start), show_time(cell.end));
}

// The label as SVG, with the ops of another route underlined.
std::string marked_label(const Cell& cell, bool with_stage) {
  std::string text;
  for (const CellPart& part : cell.parts) {
    const std::string name = escaped(label(part, with_stage));
    if (!text.empty()) text += ';';
    text += part.is_other_route ? fmt::format("<tspan class=\"way\">{}</tspan>", name) : name;
  }
  return text;
}

// The longest name that the bar has room for, "" for none.
std::string name_within(const Cell& cell, const Chart& chart, double width) {
  const auto fits = [&](const std::string& text) {
    return static_cast<double>(text.size()) * kLetter + 2 <= width;
  };
  for (const bool with_stage : {chart.has_chunks || chart.has_routes, false}) {
    if (fits(label(cell, with_stage))) return marked_label(cell, with_stage);
  }
  const std::string one(1, letter(cell));
  return fits(one) ? escaped(one) : "";
}

std::string bar(const Cell& cell, const Chart& chart) {
  const double x = x_of(cell.start, chart);
  const double width = x_of(cell.end, chart) - x;
  const double y = kTop + kLane * cell.actor + (kLane - kBar) / 2;
  std::string text = fmt::format(
      "<g><title>{}</title><rect class=\"op look{}{}\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" "
      "height=\"{}\" rx=\"2\"/>",
      escaped(tooltip(cell)), static_cast<int>(cell.look), is_later_stage(cell) ? " later" : "", x,
      y, width, kBar);
  if (const std::string name = name_within(cell, chart, width); !name.empty()) {
    text +=
        fmt::format("<text class=\"ink{}\" x=\"{:.2f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    static_cast<int>(cell.look), x + width / 2, y + kBar / 2 + 4, name);
  }
  return text + "</g>\n";
}

std::string axis(const Chart& chart, double bottom) {
  constexpr double kTicks = 14;
  const TimeUnit unit = time_unit(chart.length);
  std::string text;
  for (const Nanoseconds t : ticks(chart, static_cast<double>(chart.length) / kTicks)) {
    const double x = x_of(t, chart);
    text += fmt::format(
        "<line class=\"tick\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text x=\"{0:.2f}\" y=\"{3}\" text-anchor=\"middle\">{4:.6g}</text>\n",
        x, kTop - 4, bottom, kTop - 8, static_cast<double>(t) / unit.nanoseconds);
  }
  return text +
         fmt::format("<text class=\"note\" x=\"8\" y=\"{}\">{}</text>\n", kTop - 8, unit.name);
}

std::string legend(const Chart& chart, double y) {
  double x = kMargin;
  std::string text;
  for (const Look look : chart.looks) {
    const LookRow& row = row_of(look);
    text += fmt::format(
        "<rect class=\"op look{0}\" x=\"{1}\" y=\"{2}\" width=\"16\" height=\"16\" rx=\"2\"/>"
        "<text class=\"ink{0}\" x=\"{3}\" y=\"{4}\" text-anchor=\"middle\">{5}</text>"
        "<text class=\"note\" x=\"{6}\" y=\"{4}\">{7}</text>\n",
        static_cast<int>(look), x, y, x + 8, y + 12, escaped(std::string(1, row.letter)), x + 22,
        escaped(row.name));
    x += 46 + 7.0 * static_cast<double>(row.name.size());
  }
  std::string note = chart.has_chunks ? "paler: a later stage of the actor" : "";
  if (chart.has_routes)
    note += std::string(note.empty() ? "" : "; ") + "underlined: on another route";
  return text + fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>\n", x, y + 12, note);
}

}  // namespace

std::string draw_svg(const Timeline& timeline) {
  const Chart chart = chart_of(timeline);
  const double bottom = kTop + kLane * timeline.actors;
  const double width = kMargin + kWidth + 24;
  const double height = bottom + 44;
  const std::string heading = escaped(title(timeline, chart, 150));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n{3}"
      "<text class=\"title\" x=\"8\" y=\"22\">{2}</text>\n",
      width, height, heading, style(chart));
  for (std::int32_t actor = 0; actor < timeline.actors; ++actor) {
    const double y = kTop + kLane * actor + (kLane - kBar) / 2;
    text += fmt::format(
        "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
        kMargin, y, kWidth, kBar, kMargin - 8, y + kBar / 2 + 4, actor);
  }
  text += axis(chart, bottom);
  for (const Cell& cell : chart.cells) {
    if (cell.end > cell.start) text += bar(cell, chart);
  }
  return text + legend(chart, bottom + 16) + "</svg>\n";
}

}  // namespace penstock
