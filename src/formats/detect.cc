#include <algorithm>

#include <fmt/format.h>

#include "formats/readers.h"

namespace penstock {
namespace {

struct FormatRow {
  Format format;
  std::string_view name;
  Schedule (*read)(std::string_view content, const std::string& where);
  std::string (*write)(const Schedule& schedule);
};

constexpr FormatRow kFormats[] = {
    {Format::Json, "json", &read_schedule_json, &write_schedule_json},
    {Format::Text, "text", &read_schedule_text, &write_schedule_text},
};

const FormatRow& row_of(Format format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const FormatRow& row) { return row.format == format; });
}

std::string_view without_byte_order_mark(std::string_view content) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (content.starts_with(kMark)) content.remove_prefix(kMark.size());
  return content;
}

// The first line that is neither blank nor a comment, from its first character on.
std::string_view first_line(std::string_view content) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  std::size_t begin = content.find_first_not_of(kSpace);
  while (begin != std::string_view::npos && content[begin] == '#') {
    const std::size_t end = content.find('\n', begin);
    begin = end == std::string_view::npos ? end : content.find_first_not_of(kSpace, end);
  }
  if (begin == std::string_view::npos) return {};
  return content.substr(begin, content.find('\n', begin) - begin);
}

// "0: 0F0 ..", digits and a colon.
bool looks_like_text(std::string_view line) {
  const std::size_t end = line.find_first_not_of("0123456789");
  return end != 0 && end != std::string_view::npos && line[end] == ':';
}

}  // namespace

std::string_view name(Format format) {
  return row_of(format).name;
}

std::optional<Format> parse_format(std::string_view text) {
  for (const FormatRow& row : kFormats) {
    if (row.name == text) return row.format;
  }
  return std::nullopt;
}

Format detect_format(std::string_view content, const std::string& where) {
  content = without_byte_order_mark(content);
  const std::string_view line = first_line(content);
  if (line.starts_with('{')) return Format::Json;
  if (looks_like_text(line)) return Format::Text;
  throw Error(where, "not a schedule in any format that Penstock reads",
              "JSON begins with {, text with \"0: 0F0 ..\", a torch table with cells like 0F0,0F1");
}

Schedule read_schedule(std::string_view content, const std::string& where,
                       std::optional<Format> format) {
  content = without_byte_order_mark(content);
  return row_of(format ? *format : detect_format(content, where)).read(content, where);
}

std::string write_schedule(const Schedule& schedule, Format format) {
  return row_of(format).write(schedule);
}

}  // namespace penstock
