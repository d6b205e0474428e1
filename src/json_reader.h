// File: json_reader.h. Reads our JSON files: every problem at once, each with its JSON pointer.
//
//   std::vector<Problem> problems;
//   const nlohmann::json document = parse_json(text, "mine.json");
//   const JsonReader root(document, "mine.json", problems);
//   root.only({"name", "actors"});               // unknown keys, with the nearest known one
//   const int actors = root.integer("actors", {.required = true, .min = 1, .max = 65536});
//   if (!problems.empty()) throw Error(problems);
//
// A value that is missing or wrong is reported once and replaced by the fallback, so that reading
// goes on and finds the next problem.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "penstock/error.h"

namespace penstock {

// Throws Error with "where:line:column" and what the parser expected. Refuses documents nested
// deeper than 200 levels, and keys that an object holds twice. The value of the top-level key
// `dropped` is checked but not kept: for a part that is large and not needed.
nlohmann::json parse_json(std::string_view text, const std::string& where,
                          std::string_view dropped = {});

// The same for a document of which `keep` takes a part (nlohmann's parser callback: false leaves
// the value out). Keys that an object holds twice are not looked for.
nlohmann::json parse_json_part(std::string_view text, const std::string& where,
                               const nlohmann::json::parser_callback_t& keep);

struct IntegerRule {
  bool required = false;
  std::int64_t min = 0;
  std::int64_t max = INT32_MAX;
  std::int64_t fallback = 0;
};

struct NumberRule {
  bool required = false;
  double min = 0;
  double max = 1e18;
  double fallback = 0;
};

// A view of one JSON value; `value`, and `problems`, must outlive it. Of a thoroughly wrong
// document the first problems are told, ProblemList::kMost at most.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& value, std::string where, std::vector<Problem>& problems);

  const nlohmann::json& value() const { return *value_; }
  // "mine.json:/order/2/7"
  std::string place() const;
  std::string place(std::string_view key) const;
  void problem(std::string what, std::string hint = {}) const;

  // Each reports a problem and returns false, or an empty result, when the value is of another
  // type.
  bool is_object() const;
  bool is_array() const;
  // Reports every key of the object that is not in `known`.
  void only(std::initializer_list<std::string_view> known) const;

  bool has(std::string_view key) const;  // present and not null
  // REQUIRES: has(key), or the element exists.
  JsonReader at(std::string_view key) const;
  JsonReader at(std::size_t index) const;
  std::size_t size() const { return value_->size(); }

  // The member that has to be there: nullopt after a report when it is not. `kind` is what it
  // holds.
  std::optional<JsonReader> required(std::string_view key, std::string_view kind) const;

  std::int64_t integer(std::string_view key, const IntegerRule& rule = {}) const;
  double number(std::string_view key, const NumberRule& rule = {}) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string fallback = {}, bool required = false) const;

  // The value itself, as above.
  std::int64_t as_integer(const IntegerRule& rule = {}) const;
  double as_number(const NumberRule& rule = {}) const;
  bool as_boolean(bool fallback) const;
  std::string as_text(std::string fallback = {}) const;

 private:
  std::optional<JsonReader> member(std::string_view key, bool is_required,
                                   std::string_view kind) const;

  const nlohmann::json* value_;
  std::string where_;
  std::string pointer_;
  std::vector<Problem>* problems_;
};

}  // namespace penstock
