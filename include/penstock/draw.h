// File: draw.h. A Timeline as a chart: in the terminal and as SVG.
#pragma once

#include <string>

#include "penstock/timeline.h"

namespace penstock {

struct DrawOptions {
  int columns = 80;    // no line is longer
  bool color = false;  // ANSI, by kind; letters and shapes tell kinds apart without it
};

// One row per actor, width proportional to time; a cell says as much as fits ("3F5", "F5", "5").
// Ends with a newline. Deterministic.
std::string draw(const Timeline& timeline, const DrawOptions& options = {});

// A stand-alone SVG (no script, no font file), readable in light and dark.
std::string draw_svg(const Timeline& timeline);

}  // namespace penstock
