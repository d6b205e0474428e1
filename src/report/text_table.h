// File: text_table.h. Aligned columns for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Rows of cells, the first column flush left and the others flush right, two spaces between.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Width of the widest line.
  int width() const;
  // One line per row, without trailing spaces.
  std::string text() const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::vector<std::string>> rows_;
};

// `text` cut to `columns` characters, "..." at the end when something is missing.
std::string cut(const std::string& text, int columns);

struct WrappedPiece {
  std::string shown;
  std::size_t width = 0;  // what colour codes do not take
};
// `gap` between pieces, as many to a line as fit `columns`. No line break at the end.
std::string wrapped(const std::vector<WrappedPiece>& pieces, std::string_view gap, int columns);

}  // namespace penstock
