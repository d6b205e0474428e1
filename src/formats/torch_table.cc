#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/readers.h"
#include "formats/torch_cell.h"
#include "problem_list.h"

namespace penstock {
namespace {

constexpr std::string_view kSpace = " \t\r\v\f";
constexpr std::string_view kCellHint =
    "cells are 3F5, 3I5, 3W5, 3B5, (0F7;7B3)OVERLAP_F_B, 0SEND_F3, 1RECV_F3, 1SEND_B3, 0RECV_B3, "
    "2UNSHARD, 2RESHARD, 2REDUCE_GRAD; numbers end at 999999";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t end; (end = text.find(separator)) != std::string_view::npos;) {
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  pieces.push_back(text);
  return pieces;
}

// The lines up to the last one that is not blank.
std::vector<std::string_view> lines_of(std::string_view csv) {
  std::vector<std::string_view> lines = split(csv, '\n');
  while (!lines.empty() && trimmed(lines.back()).empty()) lines.pop_back();
  return lines;
}

// Adds the words of a line's cells to `words` and what is wrong with them to `problems`.
std::vector<std::string> read_row(std::string_view line, const std::string& where,
                                  std::set<std::string_view>& words,
                                  std::vector<Problem>& problems) {
  std::vector<std::string> row;
  if (trimmed(line).empty()) return row;
  for (const std::string_view piece : split(line, ',')) {
    const std::string_view cell = trimmed(piece);
    row.emplace_back(cell);
    const auto actions = parse_cell(cell);
    if (!actions) {
      add_problem(problems, {fmt::format("{}:{}", where, cell.data() - line.data() + 1),
                             fmt::format("'{}' is not a cell of a torch table", shortened(cell)),
                             std::string(kCellHint)});
      continue;
    }
    for (const TorchAction& action : *actions) words.insert(action.word);
  }
  return row;
}

// What `grammar` is if it is to be detected. Throws Error when the words contradict it.
TorchGrammar settled(TorchGrammar grammar, const std::set<std::string_view>& words,
                     const std::string& where) {
  const bool old_word = words.contains("BW");
  const bool new_word = words.contains("I");
  if (old_word && new_word) {
    throw Error(where, "BW belongs to torch's old grammar and I to the current one",
                "old: B input gradient, BW full backward; current: I input gradient, B full "
                "backward");
  }
  if (grammar == TorchGrammar::Current && old_word) {
    throw Error(where, "BW is a word of torch's old grammar", "read the file as torch-old");
  }
  if (grammar == TorchGrammar::Old && new_word) {
    throw Error(where, "I is a word of torch's current grammar", "read the file as torch-compute");
  }
  if (grammar != TorchGrammar::Detect) return grammar;
  if (!old_word && !new_word && words.contains("B") && words.contains("W")) {
    throw Error(where,
                "B may be the full backward or, in tables of 2024 and before, the input "
                "gradient alone",
                "say which: read the file as torch-compute or torch-comms (B is the full "
                "backward) or as torch-old (B is the input gradient)");
  }
  return old_word ? TorchGrammar::Old : TorchGrammar::Current;
}

}  // namespace

TorchTable read_torch(std::string_view csv, const std::string& where, TorchGrammar grammar) {
  TorchTable table;
  std::set<std::string_view> words;
  std::vector<Problem> problems;
  for (const std::string_view line : lines_of(csv)) {
    const std::string place = fmt::format("{}:{}", where, table.rows.size() + 1);
    table.rows.push_back(read_row(line, place, words, problems));
  }
  if (table.rows.empty()) problems.push_back({where, "the table has no cell", {}});
  if (!problems.empty()) throw Error(problems);
  if (settled(grammar, words, where) == TorchGrammar::Old) {
    for (std::vector<std::string>& row : table.rows) {
      for (std::string& cell : row) cell = modern_cell(*parse_cell(cell), cell);
    }
  }
  return table;
}

std::string write_torch(const TorchTable& table) {
  std::string text;
  for (const std::vector<std::string>& row : table.rows) {
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  return text;
}

Schedule schedule_of(const TorchTable& table, const std::string& where) {
  std::vector<std::vector<Step>> order;
  for (const std::vector<std::string>& row : table.rows) {
    std::vector<Step>& steps = order.emplace_back();
    for (const std::string& cell : row) {
      const auto actions = parse_cell(cell);
      if (!actions) throw Error(where, fmt::format("'{}' is not a cell of a torch table", cell));
      bool overlaps_previous = false;
      for (const TorchAction& action : *actions) {
        const auto kind = compute_kind(action.word);
        if (!kind) continue;
        steps.push_back({.op = {*kind, action.stage, action.microbatch, 0},
                         .overlaps_previous = std::exchange(overlaps_previous, true)});
      }
    }
  }
  std::vector<Problem> problems;
  Schedule schedule = schedule_from_order(std::move(order), where, problems);
  if (!problems.empty()) throw Error(problems);
  return schedule;
}

TorchTable torch_table_of(const Schedule& schedule, Format format) {
  refuse_unless_derivable(schedule, format);
  TorchTable table;
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    std::vector<std::string> row = entries(schedule, actor);
    std::transform(row.begin(), row.end(), row.begin(), cell_of_entry);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace penstock
