#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "formats/readers.h"
#include "penstock/number_text.h"
#include "problem_list.h"
#include "utf8.h"

namespace penstock {
namespace {

constexpr std::string_view kSpace = " \t\r\v\f";
constexpr std::string_view kLineHint = "a line is an actor and its ops: 0: 0F0 0F1 (0F2;1B0)";

// One line of the file, its number from 1, without comment.
struct Line {
  std::string_view text;
  std::string where;  // "mine.txt:3"
};

std::vector<Line> lines_of(std::string_view content, const std::string& where) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !content.empty(); ++number) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    const std::string_view text = content.substr(0, content.substr(0, end).find('#'));
    lines.push_back({text.substr(0, end), fmt::format("{}:{}", where, number)});
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return lines;
}

// A word of a line and its column from 1.
struct Word {
  std::string_view text;
  std::size_t column;
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t begin = line.find_first_not_of(kSpace);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    words.push_back({line.substr(begin, end - begin), begin + 1});
    begin = line.find_first_not_of(kSpace, end);
  }
  return words;
}

// "12:" at the head of a line.
std::optional<std::int32_t> actor_label(std::string_view word) {
  if (!word.ends_with(':')) return std::nullopt;
  word.remove_suffix(1);
  const auto actor = parse_number<std::int32_t>(word);
  return actor && *actor >= 0 ? actor : std::nullopt;
}

std::vector<Step> read_steps(const Line& line, const std::vector<Word>& words,
                             std::vector<Problem>& problems) {
  std::vector<Step> steps;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::vector<Step> parsed = parse_entry(words[i].text);
    const auto fault = [&](std::string what, std::string_view hint) {
      add_problem(problems, {fmt::format("{}:{}", line.where, words[i].column), std::move(what),
                             std::string(hint)});
    };
    if (parsed.empty()) {
      fault(fmt::format("'{}' is not an op", shortened(words[i].text)), kEntryHint);
    }
    for (const Step& step : parsed) {
      if (!is_within_limits(step.op)) fault(limits_message(step.op), {});
      steps.push_back(step);
    }
  }
  return steps;
}

// An actor's line and its place.
struct ActorLine {
  std::string where;
  std::vector<Step> steps;
};

std::map<std::int32_t, ActorLine> read_actors(std::string_view content, const std::string& where,
                                              std::vector<Problem>& problems) {
  std::map<std::int32_t, ActorLine> actors;
  for (const Line& line : lines_of(content, where)) {
    const std::vector<Word> words = words_of(line.text);
    if (words.empty()) continue;
    const std::string place = fmt::format("{}:{}", line.where, words[0].column);
    const auto actor = actor_label(words[0].text);
    if (!actor) {
      add_problem(problems, {place,
                             fmt::format("expected an actor such as '0:', found '{}'",
                                         shortened(words[0].text)),
                             std::string(kLineHint)});
      continue;
    }
    const auto [entry, is_new] =
        actors.try_emplace(*actor, ActorLine{place, read_steps(line, words, problems)});
    if (!is_new) {
      add_problem(problems, {place, fmt::format("actor {} has a line already", *actor),
                             fmt::format("the first one is at {}", entry->second.where)});
    }
  }
  return actors;
}

constexpr std::string_view kNameMark = "# schedule: ";

// A name that does not fit on a line as it is stands there as a JSON string.
std::string name_line(const std::string& name) {
  const bool is_plain = printable(name) == name && !name.starts_with('"') &&
                        !name.starts_with(' ') && !name.ends_with(' ');
  if (is_plain) return fmt::format("{}{}", kNameMark, name);
  using nlohmann::json;
  return fmt::format("{}{}", kNameMark,
                     json(name).dump(-1, ' ', true, json::error_handler_t::replace));
}

// The name in the first line that is not blank, if that is just what name_line writes; else "".
std::string name_in(std::string_view content) {
  content.remove_prefix(std::min(content.find_first_not_of(" \t\r\v\f\n"), content.size()));
  std::string_view line = content.substr(0, content.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.starts_with(kNameMark)) return {};
  std::string name(line.substr(kNameMark.size()));
  if (name.starts_with('"')) {
    const auto value = nlohmann::json::parse(name, nullptr, false);
    if (!value.is_string()) return {};
    name = value.get<std::string>();
  }
  return !name.empty() && name_line(name) == line ? name : std::string();
}

}  // namespace

Schedule read_schedule_text(std::string_view content, const std::string& where) {
  std::vector<Problem> problems;
  std::map<std::int32_t, ActorLine> actors = read_actors(content, where, problems);
  std::vector<std::vector<Step>> order;
  for (auto& [actor, line] : actors) {
    if (actor != static_cast<std::int32_t>(order.size())) {
      add_problem(
          problems,
          {line.where, fmt::format("actor {} has a line, actor {} has none", actor, order.size()),
           "number the actors 0, 1, 2, ... without a gap"});
      break;
    }
    order.push_back(std::move(line.steps));
  }
  if (actors.empty() && problems.empty()) {
    add_problem(problems, {where, "no actor has a line", std::string(kLineHint)});
  }
  if (!problems.empty()) throw Error(problems);  // an order with holes gives only noise below
  Schedule schedule = schedule_from_order(std::move(order), where, problems);
  if (!problems.empty()) throw Error(problems);
  schedule.name = name_in(content);
  return schedule;
}

std::string write_schedule_text(const Schedule& schedule) {
  refuse_unless_derivable(schedule, Format::Text);
  std::string text;
  if (!schedule.name.empty()) text += name_line(schedule.name) + "\n";
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    const std::vector<std::string> ops = entries(schedule, actor);
    text += fmt::format("{}:{}{}\n", actor, ops.empty() ? "" : " ", fmt::join(ops, " "));
  }
  return text;
}

Schedule parse(std::string_view text) {
  return read_schedule_text(text, "text");
}

}  // namespace penstock
