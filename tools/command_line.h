// File: command_line.h. The verbs' options: one table that parses, checks and prints the help.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Wrong usage: printed with the verb's usage line, exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Option {
  std::string_view name;   // "actors": --actors; "output,o": also -o
  std::string_view value;  // "P": what it takes, for the help; empty: a flag
  std::string_view help;
  bool repeats = false;
};

// What the user typed, by the table.
class Arguments {
 public:
  bool has(std::string_view name) const;
  // REQUIRES: has(name).
  const std::string& text(std::string_view name) const;
  std::string text_or(std::string_view name, std::string fallback) const;
  std::vector<std::string> list(std::string_view name) const;
  // Throws UsageError when the value is not a number of that kind.
  std::int32_t integer_or(std::string_view name, std::int32_t fallback) const;
  // The same, and at least 0.
  std::int32_t count_or(std::string_view name, std::int32_t fallback) const;
  double number_or(std::string_view name, double fallback) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  friend struct CommandLine;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positional_;
};

// One word after `penstock`.
struct Verb {
  std::string_view name;
  std::string_view positional;  // "CONFIG|SCHEDULE", for the usage line; empty: none
  int least_positional;
  int most_positional;       // -1: any number
  std::string_view summary;  // one line
  std::vector<std::span<const Option>> options;
  int (*run)(const Arguments&);
  std::string_view example;
};

struct CommandLine {
  // Throws UsageError: unknown option (with the nearest known one), missing value, repeated option,
  // wrong number of positional arguments.
  static Arguments parse(const Verb& verb, std::span<const std::string> words);
};

// True when one of the output options `names` writes to standard output ("-"), which then holds
// nothing else. Throws UsageError when two of them do.
bool writes_to_stdout(const Arguments& arguments, std::initializer_list<std::string_view> names);

std::string usage_line(const Verb& verb);
std::string verb_help(const Verb& verb);

}  // namespace penstock
