#include "report/text_table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "utf8.h"

namespace penstock {
namespace {
constexpr std::size_t kGap = 2;
}  // namespace

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

int TextTable::width() const {
  const std::vector<std::size_t> each = widths();
  const std::size_t gaps = each.empty() ? 0 : kGap * (each.size() - 1);
  return static_cast<int>(std::accumulate(each.begin(), each.end(), gaps));
}

std::string TextTable::text() const {
  const std::vector<std::size_t> each = widths();
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("{:<{}}", row[i], each[i])
                     : fmt::format("{:>{}}", row[i], each[i] + kGap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string cut(const std::string& text, int columns) {
  const auto limit = static_cast<std::size_t>(std::max(columns, 3));
  return text.size() <= limit ? text : std::string(clipped(text, limit - 3)) + "...";
}

std::string wrapped(const std::vector<WrappedPiece>& pieces, std::string_view gap, int columns) {
  std::string text;
  std::size_t used = 0;
  for (const WrappedPiece& piece : pieces) {
    if (used > 0 &&
        used + gap.size() + piece.width > static_cast<std::size_t>(std::max(columns, 0))) {
      text += '\n';
      used = 0;
    }
    if (used > 0) {
      text += gap;
      used += gap.size();
    }
    text += piece.shown;
    used += piece.width;
  }
  return text;
}

}  // namespace penstock
