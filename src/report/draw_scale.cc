#include "report/draw_scale.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace penstock {
namespace {

// The greatest time that divides every start and end: on a grid of it the chart is exact.
Nanoseconds grid(const Chart& chart) {
  Nanoseconds grid = chart.length;
  for (const Cell& cell : chart.cells) grid = std::gcd(grid, std::gcd(cell.start, cell.end));
  return grid;
}

// Columns that the label needs. With a stage one more: figures of neighbours would run together;
// likewise where it takes a mark.
std::int64_t room_for(const Cell& cell, bool with_stage) {
  return static_cast<std::int64_t>(label(cell, with_stage).size()) +
         (with_stage || is_other_route(cell) ? 1 : 0);
}

bool is_op(const Cell& cell) {
  return cell.look != Look::StepEnd && cell.end > cell.start;
}

Nanoseconds shortest_op(const Chart& chart) {
  Nanoseconds shortest = chart.length;
  for (const Cell& cell : chart.cells) {
    if (is_op(cell)) shortest = std::min(shortest, cell.end - cell.start);
  }
  return shortest;
}

// Columns per grid step that give every op room for its label, as far as `width` allows.
std::int64_t stretch(const Chart& chart, Nanoseconds grid, int width) {
  std::int64_t wanted = 1;
  for (const Cell& cell : chart.cells) {
    if (!is_op(cell)) continue;
    const std::int64_t steps = (cell.end - cell.start) / grid;
    wanted = std::max(wanted, (room_for(cell, chart.has_chunks) + steps - 1) / steps);
  }
  return std::min(wanted, width / (chart.length / grid));
}

// 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten: a column that is worth a number people
// can multiply with.
double nice_column(double least) {
  double power = 1;
  while (power * 10 <= least) power *= 10;
  for (const double factor : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

}  // namespace

int Scale::at(Nanoseconds t) const {
  return static_cast<int>(std::lround(static_cast<double>(t) / column));
}

Scale scale_of(const Chart& chart, int width) {
  Scale scale;
  if (chart.length == 0) return scale;
  const Nanoseconds step = grid(chart);
  if (chart.length / step <= width) {
    scale.column = static_cast<double>(step) / static_cast<double>(stretch(chart, step, width));
  } else {
    scale.column = nice_column(static_cast<double>(chart.length) / width);
  }
  scale.columns = std::min(
      width, static_cast<int>(std::ceil(static_cast<double>(chart.length) / scale.column - 1e-9)));
  scale.is_overview = static_cast<double>(shortest_op(chart)) < scale.column;
  scale.shows_stages =
      chart.has_chunks &&
      std::all_of(chart.cells.begin(), chart.cells.end(), [&](const Cell& cell) {
        return !is_op(cell) || room_for(cell, true) <= scale.at(cell.end) - scale.at(cell.start);
      });
  return scale;
}

}  // namespace penstock
