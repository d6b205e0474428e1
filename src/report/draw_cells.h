// File: draw_cells.h. What a chart shows of a Timeline, before it becomes characters or SVG.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/timeline.h"

namespace penstock {

// How a cell looks. A pair of overlapped ops has a look of its own.
// The looks of ops have their kinds' values.
enum class Look : std::uint8_t {
  Forward,
  Backward,
  InputGradient,
  WeightGradient,
  Recompute,
  Update,
  Pair,
  StepEnd
};
inline constexpr int kLooks = 8;

struct LookRow {
  char letter;            // tells kinds apart without colour
  char fill;              // behind the letter, as far as the op lasts
  std::string_view name;  // in the legend
  // Of the 256 terminal colours: ink, and grounds of an actor's first stage and of its later ones.
  int terminal_ink;
  int terminal_ground[2];
  // Okabe and Ito's palette, which colour-blind people can tell apart.
  std::string_view ground;
  std::string_view ink;
};
const LookRow& row_of(Look look);

struct CellPart {
  Span span;
  bool is_later_stage = false;  // not the first of its route on its actor
  bool is_other_route = false;  // not on route 0
};

// A stretch of an actor's compute lane: one span, or two that overlap as a pair.
struct Cell {
  std::int32_t actor = 0;
  Nanoseconds start = 0;  // from the chart's begin
  Nanoseconds end = 0;
  Look look = Look::Forward;
  std::vector<CellPart> parts;  // one or two
};

struct Chart {
  std::vector<Cell> cells;  // by actor, then start
  Nanoseconds length = 0;
  bool has_chunks = false;  // an actor holds several stages of a route
  bool has_routes = false;  // ops of several routes occur
  std::vector<Look> looks;  // that occur, in order
};

Chart chart_of(const Timeline& timeline);

// The label's part of one of the cell's ops.
std::string label(const CellPart& part, bool with_stage);

// "3F5" with the stage, else "F5", small ("f5") for a later stage; "3F5;7B3" and "F5;b3" for a
// pair; "update 3" for what ends a step.
std::string label(const Cell& cell, bool with_stage);

// What tells its kind where there is room for one character; small for a later stage.
char letter(const Cell& cell);

// Of its first part.
bool is_later_stage(const Cell& cell);

// Of a cell of one op; what a pair's ops do differs.
bool is_other_route(const Cell& cell);

// Times for the axis: 0 and the multiples of 1, 2 or 5 times a power of ten that lie at least
// `gap` nanoseconds apart, up to the chart's length.
std::vector<Nanoseconds> ticks(const Chart& chart, double gap);

// "1f1b: 4 actors, 8 microbatches, 33.00 ms predicted"; a long name is cut so that the whole keeps
// to `columns`.
std::string title(const Timeline& timeline, const Chart& chart, std::size_t columns);

}  // namespace penstock
