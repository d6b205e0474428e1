#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include "penstock/nearest.h"
#include "penstock/number_text.h"
#include "words.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

constexpr const char* kPositional = "positional";

std::string_view long_name(const Option& option) {
  return option.name.substr(0, option.name.find(','));
}

std::vector<Option> all_options(const Verb& verb) {
  std::vector<Option> all;
  for (const auto& group : verb.options) all.insert(all.end(), group.begin(), group.end());
  return all;
}

po::options_description describe(const Verb& verb) {
  po::options_description description;
  for (const Option& option : all_options(verb)) {
    const std::string name(option.name);
    if (option.value.empty()) {
      description.add_options()(name.c_str(), std::string(option.help).c_str());
    } else {
      auto* value = po::value<std::vector<std::string>>()->value_name(std::string(option.value));
      description.add_options()(name.c_str(), value, std::string(option.help).c_str());
    }
  }
  return description;
}

std::string unknown_option(const Verb& verb, const std::string& typed) {
  const std::string bare = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  if (all_options(verb).empty()) return fmt::format("unknown option '{}'; it takes none", typed);
  std::vector<std::string> names;
  for (const Option& option : all_options(verb))
    names.push_back("--" + std::string(long_name(option)));
  const std::vector<std::string_view> views(names.begin(), names.end());
  return fmt::format("unknown option '{}'; {}", typed, did_you_mean("--" + bare, views));
}

void refuse_repeats(const Verb& verb, const Arguments& arguments) {
  for (const Option& option : all_options(verb)) {
    if (!option.repeats && arguments.list(long_name(option)).size() > 1) {
      throw UsageError(fmt::format("--{} is given more than once", long_name(option)));
    }
  }
}

void check_positional(const Verb& verb, const Arguments& arguments) {
  const int given = static_cast<int>(arguments.positional().size());
  if (given < verb.least_positional) {
    throw UsageError(fmt::format("{} is missing", verb.positional));
  }
  if (verb.most_positional >= 0 && given > verb.most_positional) {
    const std::size_t first = static_cast<std::size_t>(verb.most_positional);
    throw UsageError(fmt::format("unexpected '{}'", arguments.positional()[first]));
  }
}

}  // namespace

bool Arguments::has(std::string_view name) const {
  return values_.contains(name);
}

const std::string& Arguments::text(std::string_view name) const {
  return values_.find(name)->second.front();
}

std::string Arguments::text_or(std::string_view name, std::string fallback) const {
  return has(name) ? text(name) : fallback;
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::int32_t Arguments::integer_or(std::string_view name, std::int32_t fallback) const {
  if (!has(name)) return fallback;
  const std::string& typed = text(name);
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
  if (error == std::errc::result_out_of_range) {
    throw UsageError(fmt::format("--{} {}: too large a number", name, typed));
  }
  if (error != std::errc{} || end != typed.data() + typed.size()) {
    throw UsageError(fmt::format("--{} takes a whole number, not '{}'", name, typed));
  }
  return value;
}

std::int32_t Arguments::count_or(std::string_view name, std::int32_t fallback) const {
  const std::int32_t value = integer_or(name, fallback);
  if (value < 0) throw UsageError(fmt::format("--{} takes a number from 0, not {}", name, value));
  return value;
}

double Arguments::number_or(std::string_view name, double fallback) const {
  if (!has(name)) return fallback;
  const std::string& typed = text(name);
  const std::optional<double> value = parse_number<double>(typed);
  if (!value || !std::isfinite(*value)) {
    throw UsageError(fmt::format("--{} takes a number, not '{}'", name, typed));
  }
  return *value;
}

Arguments CommandLine::parse(const Verb& verb, std::span<const std::string> words) {
  po::options_description description = describe(verb);
  description.add_options()(kPositional, po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  namespace style = po::command_line_style;
  const int no_guessing = style::unix_style & ~style::allow_guessing;
  Arguments arguments;
  try {
    const auto parsed =
        po::command_line_parser(std::vector<std::string>(words.begin(), words.end()))
            .options(description)
            .positional(positional)
            .style(no_guessing)
            .run();
    for (const auto& option : parsed.options) {
      auto& target = option.string_key == kPositional ? arguments.positional_
                                                      : arguments.values_[option.string_key];
      target.insert(target.end(), option.value.begin(), option.value.end());
      if (option.value.empty()) target.emplace_back();  // a flag
    }
  } catch (const po::unknown_option& error) {
    throw UsageError(unknown_option(verb, error.get_option_name()));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  refuse_repeats(verb, arguments);
  check_positional(verb, arguments);
  return arguments;
}

bool writes_to_stdout(const Arguments& arguments, std::initializer_list<std::string_view> names) {
  std::string_view first;
  for (const std::string_view name : names) {
    if (arguments.text_or(name, "") != "-") continue;
    if (!first.empty()) {
      throw UsageError(
          fmt::format("--{} and --{} cannot both write to standard output", first, name));
    }
    first = name;
  }
  return !first.empty();
}

std::string usage_line(const Verb& verb) {
  std::string line = fmt::format("usage: penstock {}", verb.name);
  if (!verb.positional.empty()) {
    const bool optional = verb.least_positional == 0;
    line += optional ? fmt::format(" [{}]", verb.positional) : fmt::format(" {}", verb.positional);
    if (verb.most_positional < 0) line += "...";
  }
  return line + (all_options(verb).empty() ? "\n" : " [options]\n");
}

std::string verb_help(const Verb& verb) {
  std::string text = usage_line(verb) + "\n" + std::string(verb.summary) + ".\n\n";
  constexpr std::size_t kColumn = 26;
  constexpr std::size_t kWidth = 80;
  for (const Option& option : all_options(verb)) {
    const std::size_t comma = option.name.find(',');
    std::string left = "  ";
    if (comma != std::string_view::npos)
      left += fmt::format("-{}, ", option.name.substr(comma + 1));
    left += fmt::format("--{}", long_name(option));
    if (!option.value.empty()) left += fmt::format(" {}", option.value);
    std::string line = fmt::format("{:<{}}", left, kColumn);
    if (left.size() >= kColumn) {
      text += left + "\n";
      line = std::string(kColumn, ' ');
    }
    std::string_view rest = option.help;
    while (!rest.empty()) {  // wrap at words
      std::size_t take = std::min(rest.size(), kWidth - kColumn);
      if (take < rest.size()) {
        const std::size_t space = rest.rfind(' ', take);
        if (space != std::string_view::npos && space > 0) take = space;
      }
      text += line + std::string(rest.substr(0, take)) + "\n";
      rest.remove_prefix(take);
      while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
      line = std::string(kColumn, ' ');
    }
  }
  if (text.ends_with("\n\n")) text.pop_back();  // no options
  if (!verb.example.empty()) text += fmt::format("\nexample:\n  {}\n", verb.example);
  return text;
}

}  // namespace penstock
