#include "json_reader.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "penstock/nearest.h"
#include "problem_list.h"
#include "utf8.h"

namespace penstock {
namespace {

constexpr int kDeepest = 200;

// Depth by brackets outside strings: the parser itself has no limit, and what reads the document
// later recurses.
int depth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

// "line:column" of a byte offset.
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("{}:{}", lines + 1, column + 1);
}

// What the parser said without its own prefix and position.
std::string expectation(const nlohmann::json::parse_error& error) {
  const std::string text = error.what();
  const std::size_t at = text.find(": ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

// A key in a pointer; a very long one is noise, and is cut.
std::string escaped(std::string_view key) {
  constexpr std::size_t kLongestKey = 80;
  std::string text;
  for (const char c : clipped(key, kLongestKey)) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return key.size() > kLongestKey ? text + "..." : text;
}

// Finds keys that an object holds twice: of those the parser would silently keep the last. Fed with
// the parser's events; a level is the number of containers around an event.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(const std::string& where) : where_(where) {}

  void see(std::size_t level, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::key) {
      key(level, value.get_ref<const std::string&>());
    } else if (event != Event::object_end && event != Event::array_end) {
      element(level, event == Event::array_start);
    }
  }
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  struct Container {
    bool is_array = false;
    std::size_t elements = 0;  // seen so far
    std::string key;           // the latest
    std::set<std::string> keys = {};
  };

  void key(std::size_t level, const std::string& name) {
    containers_.resize(level);
    Container& object = containers_.back();
    object.key = name;
    if (!object.keys.insert(name).second) {
      add_problem(problems_,
                  {where_ + ":" + pointer(), "the key is given twice", "keep one of them"});
    }
  }

  void element(std::size_t level, bool is_array) {
    containers_.resize(level);
    if (level > 0) ++containers_.back().elements;
    containers_.push_back({.is_array = is_array});
  }

  std::string pointer() const {
    std::string text;
    for (const Container& container : containers_) {
      text += "/" + (container.is_array ? std::to_string(container.elements - 1)
                                        : escaped(container.key));
    }
    return text;
  }

  std::string where_;
  std::vector<Container> containers_;
  std::vector<Problem> problems_;
};

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

// A whole number that 64 bits with a sign hold. REQUIRES: it is a number without a fraction.
std::optional<std::int64_t> whole_number(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= INT64_MAX ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  if (!value.is_number_float()) return value.get<std::int64_t>();
  const auto number = value.get<double>();
  const bool fits = number >= -0x1p63 && number < 0x1p63;
  return fits ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

}  // namespace

nlohmann::json parse_json_part(std::string_view text, const std::string& where,
                               const nlohmann::json::parser_callback_t& keep) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Error(where, "the file is empty", "JSON begins with {");
  }
  if (depth(text) > kDeepest) {
    throw Error(where, fmt::format("nested deeper than {} levels", kDeepest));
  }
  try {
    return nlohmann::json::parse(text, keep);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(fmt::format("{}:{}", where, line_and_column(text, error.byte)),
                "not valid JSON: " + expectation(error),
                "something just before this place is missing, left over or misspelt");
  } catch (const nlohmann::json::out_of_range& error) {
    throw Error(where, "a number is too large");
  }
}

nlohmann::json parse_json(std::string_view text, const std::string& where,
                          std::string_view dropped) {
  using Event = nlohmann::json::parse_event_t;
  DuplicateKeys duplicates(where);
  bool dropping = false;
  nlohmann::json document =
      parse_json_part(text, where, [&](int level, Event event, const nlohmann::json& value) {
        const bool top_key = event == Event::key && level == 1;
        if (top_key) dropping = !dropped.empty() && value == dropped;
        if (top_key || !dropping) duplicates.see(static_cast<std::size_t>(level), event, value);
        return !(top_key && dropping);
      });
  if (!duplicates.problems().empty()) throw Error(duplicates.problems());
  return document;
}

JsonReader::JsonReader(const nlohmann::json& value, std::string where,
                       std::vector<Problem>& problems)
    : value_(&value), where_(std::move(where)), problems_(&problems) {}

std::string JsonReader::place() const {
  return pointer_.empty() ? where_ : where_ + ":" + pointer_;
}

std::string JsonReader::place(std::string_view key) const {
  return where_ + ":" + pointer_ + "/" + escaped(key);
}

void JsonReader::problem(std::string what, std::string hint) const {
  add_problem(*problems_, {place(), std::move(what), std::move(hint)});
}

bool JsonReader::is_object() const {
  if (!value_->is_object()) problem(fmt::format("expected an object, found {}", shown(*value_)));
  return value_->is_object();
}

bool JsonReader::is_array() const {
  if (!value_->is_array()) problem(fmt::format("expected an array, found {}", shown(*value_)));
  return value_->is_array();
}

void JsonReader::only(std::initializer_list<std::string_view> known) const {
  if (!is_object()) return;
  const std::vector<std::string_view> names(known);
  for (const auto& [key, unused] : value_->items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    add_problem(*problems_, {place(key), fmt::format("unknown key '{}'", escaped(key)),
                             did_you_mean(key, names)});
  }
}

bool JsonReader::has(std::string_view key) const {
  if (!value_->is_object()) return false;
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

JsonReader JsonReader::at(std::string_view key) const {
  JsonReader child(value_->at(key), where_, *problems_);
  child.pointer_ = pointer_ + "/" + escaped(key);
  return child;
}

JsonReader JsonReader::at(std::size_t index) const {
  JsonReader child(value_->at(index), where_, *problems_);
  child.pointer_ = pointer_ + "/" + std::to_string(index);
  return child;
}

std::optional<JsonReader> JsonReader::required(std::string_view key, std::string_view kind) const {
  if (has(key)) return at(key);
  if (value_->is_object()) {
    problem(fmt::format("'{}' is missing", key), fmt::format("it holds {}", kind));
  }
  return std::nullopt;
}

std::optional<JsonReader> JsonReader::member(std::string_view key, bool is_required,
                                             std::string_view kind) const {
  if (has(key)) return at(key);
  return is_required ? required(key, kind) : std::nullopt;
}

std::int64_t JsonReader::integer(std::string_view key, const IntegerRule& rule) const {
  const auto found = member(key, rule.required, "a whole number");
  return found ? found->as_integer(rule) : rule.fallback;
}

double JsonReader::number(std::string_view key, const NumberRule& rule) const {
  const auto found = member(key, rule.required, "a number");
  return found ? found->as_number(rule) : rule.fallback;
}

bool JsonReader::boolean(std::string_view key, bool fallback) const {
  const auto found = member(key, false, "true or false");
  return found ? found->as_boolean(fallback) : fallback;
}

std::string JsonReader::text(std::string_view key, std::string fallback, bool required) const {
  const auto found = member(key, required, "a string");
  return found ? found->as_text(std::move(fallback)) : fallback;
}

std::int64_t JsonReader::as_integer(const IntegerRule& rule) const {
  // 4.0 is an integer too: some writers have no other number.
  const bool whole =
      value_->is_number_integer() ||
      (value_->is_number_float() && std::nearbyint(value_->get<double>()) == value_->get<double>());
  if (!whole) {
    problem(fmt::format("expected a whole number, found {}", shown(*value_)));
    return rule.fallback;
  }
  const std::optional<std::int64_t> number = whole_number(*value_);
  if (!number || *number < rule.min || *number > rule.max) {
    problem(fmt::format("{} is out of range", shown(*value_)),
            rule.min == rule.max ? fmt::format("only {} is allowed", rule.min)
                                 : fmt::format("allowed: {} to {}", rule.min, rule.max));
    return rule.fallback;
  }
  return *number;
}

double JsonReader::as_number(const NumberRule& rule) const {
  if (!value_->is_number()) {
    problem(fmt::format("expected a number, found {}", shown(*value_)));
    return rule.fallback;
  }
  const double number = value_->get<double>();
  if (!(number >= rule.min && number <= rule.max)) {
    problem(fmt::format("{} is out of range", shown(*value_)),
            fmt::format("allowed: {} to {}", rule.min, rule.max));
    return rule.fallback;
  }
  return number;
}

bool JsonReader::as_boolean(bool fallback) const {
  if (value_->is_boolean()) return value_->get<bool>();
  problem(fmt::format("expected true or false, found {}", shown(*value_)));
  return fallback;
}

std::string JsonReader::as_text(std::string fallback) const {
  if (value_->is_string()) return value_->get<std::string>();
  problem(fmt::format("expected a string, found {}", shown(*value_)));
  return fallback;
}

}  // namespace penstock
