#include "option.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "penstock/nearest.h"
#include "penstock/number_text.h"

namespace penstock {
namespace {

const std::string* given(const GenerateOptions& options, const std::string& key) {
  const auto found = options.option.find(key);
  return found == options.option.end() ? nullptr : &found->second;
}

// A whole number of at least 1, or nothing.
std::optional<std::int32_t> positive(std::string_view text) {
  const auto value = parse_number<std::int32_t>(text);
  return value && *value >= 1 ? value : std::nullopt;
}

std::string_view without_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

std::string_view word_option(const GenerateOptions& options, const std::string& key,
                             std::span<const std::string_view> words,
                             std::vector<Problem>& problems) {
  const std::string* word = given(options, key);
  if (word == nullptr) return words.front();
  const auto found = std::find(words.begin(), words.end(), *word);
  if (found != words.end()) return *found;
  problems.push_back({fmt::format("option {}", key), fmt::format("no {} '{}'", key, *word),
                      did_you_mean(*word, words)});
  return words.front();
}

std::int32_t number_option(const GenerateOptions& options, const std::string& key,
                           std::int32_t otherwise, std::vector<Problem>& problems) {
  const std::string* text = given(options, key);
  if (text == nullptr) return otherwise;
  if (const auto value = positive(*text)) return *value;
  problems.push_back({fmt::format("option {}", key),
                      fmt::format("'{}' is no positive number", *text),
                      fmt::format("for example {}=4", key)});
  return otherwise;
}

std::vector<std::int32_t> numbers_option(const GenerateOptions& options, const std::string& key,
                                         std::vector<Problem>& problems) {
  const std::string* text = given(options, key);
  if (text == nullptr) return {};
  std::vector<std::int32_t> values;
  std::string_view rest = without_spaces(*text);
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view entry = without_spaces(rest.substr(0, comma));
    rest.remove_prefix(more ? comma + 1 : rest.size());
    if (const auto value = positive(entry)) {
      values.push_back(*value);
    } else {
      problems.push_back({fmt::format("option {}", key),
                          fmt::format("'{}' is no positive number", entry),
                          fmt::format("for example {}=512,512", key)});
    }
  }
  return values;
}

double decimal_option(const GenerateOptions& options, const std::string& key, double otherwise,
                      std::vector<Problem>& problems) {
  const std::string* text = given(options, key);
  if (text == nullptr) return otherwise;
  const auto value = parse_number<double>(*text);
  if (value && std::isfinite(*value) && *value >= 0) return *value;
  problems.push_back({fmt::format("option {}", key),
                      fmt::format("'{}' is no number from 0 on", *text),
                      fmt::format("for example {}={}", key, otherwise)});
  return otherwise;
}

bool switch_option(const GenerateOptions& options, const std::string& key, bool otherwise,
                   std::vector<Problem>& problems) {
  const std::string* text = given(options, key);
  if (text == nullptr) return otherwise;
  if (*text == "0" || *text == "1") return *text == "1";
  problems.push_back({fmt::format("option {}", key), fmt::format("'{}' is neither 0 nor 1", *text),
                      fmt::format("the default is {:d}", otherwise)});
  return otherwise;
}

void check_chunks(const char* name, const GenerateOptions& options,
                  std::initializer_list<std::int32_t> allowed, std::vector<Problem>& problems) {
  if (options.chunks == 1) return;
  if (std::find(allowed.begin(), allowed.end(), options.chunks) != allowed.end()) return;
  const std::int32_t held = std::max(allowed);
  if (held == 1) {
    problems.push_back({"chunks",
                        fmt::format("{} has one stage per actor, not {}", name, options.chunks),
                        "interleaved_1f1b, looped_bfs and interleaved_zb1p take several"});
    return;
  }
  problems.push_back({"chunks",
                      fmt::format("{} has {} stages per actor, not {}", name, held, options.chunks),
                      fmt::format("leave out chunks, or say {}", held)});
}

std::string multiples_near(std::int32_t size, std::int32_t step, std::int32_t least) {
  const std::int64_t below = std::int64_t{size} / step * step;
  const std::int64_t above = std::max<std::int64_t>(below + (size % step == 0 ? 0 : step), least);
  if (below < least || below == above) return std::to_string(above);
  return fmt::format("{} or {}", below, above);
}

void throw_if_any(std::vector<Problem> problems) {
  if (!problems.empty()) throw Error(std::move(problems));
}

}  // namespace penstock
