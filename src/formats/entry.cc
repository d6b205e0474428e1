#include <algorithm>

#include <fmt/format.h>

#include "formats/readers.h"
#include "utf8.h"

namespace penstock {

std::vector<Step> parse_entry(std::string_view text) {
  if (!text.starts_with('(')) {
    const auto op = parse_op(text);
    return op ? std::vector<Step>{{.op = *op}} : std::vector<Step>{};
  }
  const std::size_t semicolon = text.find(';');
  if (!text.ends_with(')') || semicolon == std::string_view::npos) return {};
  const auto first = parse_op(text.substr(1, semicolon - 1));
  const auto second = parse_op(text.substr(semicolon + 1, text.size() - semicolon - 2));
  if (!first || !second) return {};
  return {{.op = *first}, {.op = *second, .overlaps_previous = true}};
}

bool is_within_limits(const Op& op) {
  return std::max({op.stage, op.microbatch, op.slice}) < kMostItems;
}

std::string limits_message(const Op& op) {
  return fmt::format("{}: stages, microbatches and slices end at {}", to_string(op),
                     kMostItems - 1);
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() <= kLongest) return printable(text);
  return printable(clipped(text, kLongest - 3)) + "...";
}

std::vector<std::string> entries(const Schedule& schedule, std::size_t actor) {
  std::vector<std::string> texts;
  bool previous_is_pair = true;  // nothing to pair with before the first step
  for (const Step& step : schedule.order[actor]) {
    const std::string text = to_string(step.op);
    if (!step.overlaps_previous) {
      texts.push_back(text);
    } else if (!previous_is_pair) {
      texts.back() = fmt::format("({};{})", texts.back(), text);
    } else {
      throw Error(fmt::format("actor {}", actor),
                  fmt::format("{} overlaps a step that is not there", text),
                  "a pair is two steps, of which the second overlaps the first");
    }
    previous_is_pair = step.overlaps_previous;
  }
  return texts;
}

}  // namespace penstock
