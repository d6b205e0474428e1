// File: csv.h. Cells of comma-separated values.
#pragma once

#include <string>

namespace penstock {

// RFC 4180: quoted when it holds a comma, a quote or a line break, quotes doubled.
std::string csv_cell(const std::string& text);

}  // namespace penstock
