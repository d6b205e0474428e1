#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "formats/readers.h"
#include "formats/torch_cell.h"
#include "penstock/check.h"

namespace penstock {
namespace {

std::string write_torch_compute(const Schedule& schedule) {
  return write_torch(torch_table_of(schedule, Format::TorchCompute));
}

std::string write_torch_comms(const Schedule& schedule) {
  return write_torch(add_send_recv(torch_table_of(schedule, Format::TorchComms)));
}

// torch's passes in torch's order.
TorchTable lowered_for_fsdp(const TorchTable& compute) {
  return add_send_recv(add_reduce_grad(add_unshard_reshard(compute)));
}

std::string write_torch_fsdp(const Schedule& schedule) {
  return write_torch(lowered_for_fsdp(torch_table_of(schedule, Format::TorchFsdp)));
}

std::string refuse_old_torch(const Schedule& schedule) {
  throw Error(fmt::format("schedule '{}'", shortened(schedule.name)),
              "torch-old is read, not written", "write torch-compute, torch-comms or torch-fsdp");
}

struct FormatRow {
  Format format;
  std::string_view name;
  // nullptr for torch's formats, which go through a TorchTable.
  Schedule (*read)(std::string_view content, const std::string& where);
  std::string (*write)(const Schedule& schedule);
};

constexpr FormatRow kFormats[] = {
    {Format::Json, "json", &read_schedule_json, &write_schedule_json},
    {Format::Text, "text", &read_schedule_text, &write_schedule_text},
    {Format::SailSg, "sailsg", &read_schedule_sailsg, &write_schedule_sailsg},
    {Format::TorchCompute, "torch-compute", nullptr, &write_torch_compute},
    {Format::TorchComms, "torch-comms", nullptr, &write_torch_comms},
    {Format::TorchFsdp, "torch-fsdp", nullptr, &write_torch_fsdp},
    {Format::TorchOld, "torch-old", nullptr, &refuse_old_torch},
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

// The table that a cell makes of its file.
Format flavour_of(std::string_view word) {
  if (compute_kind(word) || word == "BW") return Format::TorchCompute;
  return word.find("SEND") == 0 || word.find("RECV") == 0 ? Format::TorchComms : Format::TorchFsdp;
}

// Which torch table `content` is: that of the cell which tells most.
std::optional<Format> torch_format(std::string_view content) {
  std::optional<Format> format;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find_first_of(", \t\r\n"), content.size());
    const auto actions = parse_cell(content.substr(0, end));
    content.remove_prefix(std::min(end + 1, content.size()));
    if (!actions || actions->empty()) continue;
    const Format flavour = flavour_of(actions->front().word);
    format = std::max(format.value_or(flavour), flavour);
  }
  return format;
}

// The table without what is no compute and without the blanks.
TorchTable without_communication(const TorchTable& table) {
  TorchTable result;
  for (const std::vector<std::string>& row : table.rows) {
    std::vector<std::string>& kept = result.rows.emplace_back();
    for (const std::string& cell : row) {
      const auto actions = parse_cell(cell);
      if (!actions->empty() && compute_kind(actions->front().word)) kept.push_back(cell);
    }
  }
  return result;
}

std::string write_torch_as(const TorchTable& compute, Format to) {
  if (to == Format::TorchCompute) return write_torch(compute);
  return write_torch(to == Format::TorchComms ? add_send_recv(compute) : lowered_for_fsdp(compute));
}

TorchGrammar grammar_of(std::optional<Format> format) {
  if (!format) return TorchGrammar::Detect;
  return *format == Format::TorchOld ? TorchGrammar::Old : TorchGrammar::Current;
}

}  // namespace

std::vector<Format> formats() {
  std::vector<Format> all;
  for (const FormatRow& row : kFormats) all.push_back(row.format);
  return all;
}

std::string_view name(Format format) {
  return row_of(format).name;
}

std::optional<Format> parse_format(std::string_view text) {
  for (const FormatRow& row : kFormats) {
    if (row.name == text) return row.format;
  }
  return std::nullopt;
}

bool is_torch(Format format) {
  return format >= Format::TorchCompute;
}

Format detect_format(std::string_view content, const std::string& where) {
  content = without_byte_order_mark(content);
  const std::string_view line = first_line(content);
  if (line.empty()) throw Error(where, "holds no schedule: it is empty", "see penstock generate");
  if (line.starts_with('{')) return Format::Json;
  if (line.starts_with('[')) return Format::SailSg;
  if (looks_like_text(line)) return Format::Text;
  if (const auto format = torch_format(content)) return *format;
  throw Error(where, "not a schedule in any format that Penstock reads",
              "JSON begins with {, text with \"0: 0F0 ..\", a torch table with cells like 0F0,0F1");
}

Schedule read_schedule(std::string_view content, const std::string& where,
                       std::optional<Format> format) {
  content = without_byte_order_mark(content);
  const Format detected = format ? *format : detect_format(content, where);
  if (is_torch(detected)) {
    const TorchTable table = read_torch(content, where, grammar_of(format));
    Schedule schedule = schedule_of(table, where);
    if (has_transfers(table) && check(schedule).empty()) program_of(table, schedule, where);
    return schedule;
  }
  return row_of(detected).read(content, where);
}

std::optional<Program> read_program(std::string_view content, const std::string& where,
                                    std::optional<Format> format) {
  content = without_byte_order_mark(content);
  if (!is_torch(format ? *format : detect_format(content, where))) return std::nullopt;
  const TorchTable table = read_torch(content, where, grammar_of(format));
  if (!has_transfers(table)) return std::nullopt;
  return program_of(table, schedule_of(table, where), where);
}

Schedule read_named_schedule(std::string_view content, const std::string& where,
                             std::optional<Format> format) {
  Schedule schedule = read_schedule(content, where, format);
  if (schedule.name.empty()) schedule.name = std::filesystem::path(where).stem().string();
  return schedule;
}

std::string write_schedule(const Schedule& schedule, Format format) {
  return row_of(format).write(schedule);
}

std::string convert_schedule(std::string_view content, const std::string& where,
                             std::optional<Format> from, Format to) {
  content = without_byte_order_mark(content);
  const Format detected = from ? *from : detect_format(content, where);
  if (!is_torch(detected) || !is_torch(to) || to == Format::TorchOld) {
    return write_schedule(read_named_schedule(content, where, from), to);
  }
  const TorchTable table = read_torch(content, where, grammar_of(from));
  // A table whose cells are all blank is of every flavour.
  const Format flavour = torch_format(content).value_or(to);
  if (flavour == to) return write_torch(table);
  return write_torch_as(flavour == Format::TorchCompute ? table : without_communication(table), to);
}

std::string convert_merged(std::string_view content, const std::string& where,
                           std::optional<Format> from, Format to) {
  content = without_byte_order_mark(content);
  const Format detected = from ? *from : detect_format(content, where);
  Schedule schedule = read_named_schedule(content, where, from);
  const TorchTable table = merge_backwards(
      is_torch(detected) ? without_communication(read_torch(content, where, grammar_of(from)))
                         : torch_table_of(schedule, Format::TorchCompute));
  if (is_torch(to) && to != Format::TorchOld) return write_torch_as(table, to);
  Schedule merged = schedule_of(table, where);
  merged.name = schedule.name;
  return write_schedule(merged, to);
}

}  // namespace penstock
