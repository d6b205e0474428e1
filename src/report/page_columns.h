// File: page_columns.h. Spans, transfers and idle stretches, column by column, for the page.
#pragma once

#include <string>

#include "penstock/timeline.h"

namespace penstock {

// Appends "routes" (by stage), "spans", "transfers", "idle" (an object of equally long arrays each)
// and "critical" (the indices of the spans on the critical path), separated by commas.
void append_columns(std::string& out, const Timeline& timeline);

}  // namespace penstock
