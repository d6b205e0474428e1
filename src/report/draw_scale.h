// File: draw_scale.h. How time becomes the columns of a terminal chart.
#pragma once

#include "report/draw_cells.h"

namespace penstock {

struct Scale {
  double column = 1;          // nanoseconds
  int columns = 0;            // of the whole chart
  bool is_overview = false;   // some op is narrower than a column
  bool shows_stages = false;  // every op has room for its full name

  int at(Nanoseconds t) const;  // the nearest column edge
};

// The most detailed scale within `width` columns: exact where all times lie on a grid that fits,
// else a column is worth a number that people can multiply with.
Scale scale_of(const Chart& chart, int width);

}  // namespace penstock
