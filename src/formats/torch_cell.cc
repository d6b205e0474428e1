#include "formats/torch_cell.h"

#include <algorithm>

#include <fmt/format.h>

#include "formats/readers.h"
#include "penstock/number_text.h"

namespace penstock {
namespace {

constexpr std::string_view kOverlap = "OVERLAP_F_B";

struct WordRule {
  std::string_view word;
  bool has_microbatch;
};

// references: torch/distributed/pipelining/schedules.py, _ComputationType and _action_regex; BW was
// there until 2024.
constexpr WordRule kWords[] = {
    {"F", true},      {"B", true},        {"I", true},        {"W", true},
    {"BW", true},     {"SEND_F", true},   {"RECV_F", true},   {"SEND_B", true},
    {"RECV_B", true}, {"UNSHARD", false}, {"RESHARD", false}, {"REDUCE_GRAD", false},
};

// Takes a number below kMostItems from the front of `text`.
std::optional<std::int32_t> take_item(std::string_view& text) {
  const auto number = take_number(text);
  return number && *number < kMostItems ? number : std::nullopt;
}

std::optional<TorchAction> parse_action(std::string_view text) {
  const auto stage = take_item(text);
  if (!stage) return std::nullopt;
  const std::string_view word = text.substr(0, text.find_first_of("0123456789"));
  const auto rule = std::find_if(std::begin(kWords), std::end(kWords),
                                 [&](const WordRule& rule) { return rule.word == word; });
  if (rule == std::end(kWords)) return std::nullopt;
  text.remove_prefix(word.size());
  TorchAction action{*stage, word, 0};
  if (rule->has_microbatch) {
    const auto microbatch = take_item(text);
    if (!microbatch) return std::nullopt;
    action.microbatch = *microbatch;
  }
  return text.empty() ? std::optional(action) : std::nullopt;
}

bool is_compute(const TorchAction& action) {
  return compute_kind(action.word) || action.word == "BW";
}

}  // namespace

std::optional<std::vector<TorchAction>> parse_cell(std::string_view cell) {
  if (cell.empty()) return std::vector<TorchAction>{};
  if (!cell.starts_with('(')) {
    const auto action = parse_action(cell);
    return action ? std::optional(std::vector{*action}) : std::nullopt;
  }
  const std::size_t semicolon = cell.find(';');
  const std::size_t close = cell.find(')');
  if (semicolon == std::string_view::npos || close == std::string_view::npos || close < semicolon ||
      cell.substr(close + 1) != kOverlap) {
    return std::nullopt;
  }
  const auto first = parse_action(cell.substr(1, semicolon - 1));
  const auto second = parse_action(cell.substr(semicolon + 1, close - semicolon - 1));
  if (!first || !second || !is_compute(*first) || !is_compute(*second)) return std::nullopt;
  return std::vector{*first, *second};
}

std::optional<OpKind> compute_kind(std::string_view word) {
  if (word == "F") return OpKind::Forward;
  if (word == "B") return OpKind::Backward;
  if (word == "I") return OpKind::BackwardInput;
  if (word == "W") return OpKind::BackwardWeight;
  return std::nullopt;
}

std::string modern_cell(const std::vector<TorchAction>& actions, std::string_view cell) {
  if (actions.empty() || !is_compute(actions[0])) return std::string(cell);
  const auto modern = [](const TorchAction& action) {
    const std::string_view word = action.word == "B"    ? "I"
                                  : action.word == "BW" ? "B"
                                                        : action.word;
    return fmt::format("{}{}{}", action.stage, word, action.microbatch);
  };
  if (actions.size() == 1) return modern(actions[0]);
  return fmt::format("({};{}){}", modern(actions[0]), modern(actions[1]), kOverlap);
}

std::string cell_of_entry(const std::string& entry) {
  return entry.starts_with('(') ? entry + std::string(kOverlap) : entry;
}

}  // namespace penstock
