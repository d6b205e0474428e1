#include "search_input.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "penstock/nearest.h"
#include "penstock/number_text.h"
#include "schedule_input.h"
#include "words.h"

namespace penstock {
namespace {

// Reads the options one by one and keeps what is wrong.
class OptionReader {
 public:
  explicit OptionReader(const GenerateOptions& options) : options_(options) {
    const std::vector<std::string_view> known = split(kSearchedOptions, ' ');
    for (const auto& [key, value] : options.option) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      refuse(key, fmt::format("{} has no such option", kSearched), did_you_mean(key, known));
    }
  }

  // At least `least`.
  template <class Value>
  void number(const char* key, Value& value, Value least) {
    if (const std::string* text = given(key)) value = parse(key, *text, least, value);
  }

  template <class Value>
  void numbers(const char* key, std::vector<Value>& values) {
    const std::string* text = given(key);
    if (text == nullptr) return;
    for (const std::string_view word : split(*text, '/')) {
      values.push_back(parse<Value>(key, word, 0, 0));
    }
  }

  // Which of `words` is given: -1 for none.
  int choice(const char* key, const std::vector<std::string_view>& words) {
    const std::string* text = given(key);
    if (text == nullptr) return -1;
    const auto found = std::find(words.begin(), words.end(), *text);
    if (found != words.end()) return static_cast<int>(found - words.begin());
    refuse(key, fmt::format("no {} '{}'", key, *text), did_you_mean(*text, words));
    return -1;
  }

  void refuse(const std::string& key, std::string what, std::string hint) {
    problems_.push_back({"option " + key, std::move(what), std::move(hint)});
  }
  std::vector<Problem> problems() { return std::move(problems_); }

 private:
  const std::string* given(const char* key) const {
    const auto found = options_.option.find(key);
    return found == options_.option.end() ? nullptr : &found->second;
  }

  template <class Value>
  Value parse(const char* key, std::string_view text, Value least, Value otherwise) {
    const std::optional<Value> value = parse_number<Value>(text);
    if (value && *value >= least && static_cast<double>(*value) <= 4e18) return *value;
    refuse(key, fmt::format("'{}' is no number from {} on", text, least),
           fmt::format("for example {}=4", key));
    return otherwise;
  }

  const GenerateOptions& options_;
  std::vector<Problem> problems_;
};

// One stage per actor and chunk; nothing for sizes that are refused anyway.
std::optional<Schedule> without_order(const GenerateOptions& options) {
  const double stages = static_cast<double>(options.actors) * options.chunks;
  if (options.actors < 1 || options.chunks < 1 || options.microbatches < 1 ||
      stages * options.microbatches > 1e7) {
    return std::nullopt;
  }
  return Schedule{.name = {},
                  .pipeline = loop_pipeline(options.actors, options.chunks, options.microbatches),
                  .order = {}};
}

}  // namespace

SearchOptions search_options(const GenerateOptions& options) {
  SearchOptions search{
      .actors = options.actors, .chunks = options.chunks, .microbatches = options.microbatches};
  OptionReader reader(options);
  reader.numbers("memory", search.in_flight);
  reader.numbers("memory_bytes", search.bytes);
  reader.number<std::int64_t>("budget", search.budget, 1);
  reader.number<std::int32_t>("tree", search.tree, 0);
  reader.number<std::uint64_t>("seed", search.seed, 0);
  const int placement = reader.choice("placement", {"loop", "v"});
  if (placement >= 0) search.placement = placement == 0 ? StagePlacement::Loop : StagePlacement::V;
  const int split_backward = reader.choice("split", {"0", "1"});
  if (split_backward >= 0) search.split = split_backward == 1;
  std::vector<Problem> problems = reader.problems();
  if (options.slices > 1) {
    problems.push_back(
        {"slices", fmt::format("{} does not slice microbatches", kSearched), "leave out slices"});
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return search;
}

void refuse_unknown(std::string_view name) {
  if (name == kSearched || find_generator(name) != nullptr) return;
  std::vector<std::string_view> known;
  for (const Generator& generator : generators()) known.push_back(generator.name);
  known.push_back(kSearched);
  throw Error("schedule", fmt::format("no schedule is called '{}'", name),
              did_you_mean(name, known));
}

bool is_made_for_costs(std::string_view name) {
  const Generator* generator = find_generator(name);
  return name == kSearched || (generator != nullptr && generator->needs_costs);
}

std::optional<CostTable> costs_for_sizes(const GenerateOptions& options,
                                         const Arguments& arguments) {
  if (!arguments.has("costs") && !arguments.has("costs-file")) return std::nullopt;
  const std::optional<Schedule> sizes = without_order(options);
  return sizes ? costs_from(arguments, *sizes) : CostTable{};
}

namespace {

CostTable costs_or_units(const GenerateOptions& options, const Arguments& arguments) {
  if (auto costs = costs_for_sizes(options, arguments)) return std::move(*costs);
  const std::optional<Schedule> sizes = without_order(options);
  return sizes ? unit_costs(*sizes) : CostTable{};
}

// What is searched for; sizes that are refused get no costs.
CostTable costs_to_search(const GenerateOptions& options, const Arguments& arguments) {
  if (!arguments.has("per-actor")) return costs_or_units(options, arguments);
  return without_order(options) ? actor_costs(arguments, options.actors) : CostTable{};
}

// Costs of whole actors leave open into how many chunks an actor's share is cut: one, or two, which
// a V needs. Each gets its part of the budget.
std::vector<GenerateOptions> searched_sizes(const GenerateOptions& options,
                                            const Arguments& arguments) {
  const auto placement = options.option.find("placement");
  const bool is_v = placement != options.option.end() && placement->second == "v";
  const bool is_loop = placement != options.option.end() && !is_v;
  if (options.chunks != 1 || is_loop) return {options};
  GenerateOptions two = options;
  two.chunks = 2;
  if (!arguments.has("per-actor")) {
    if (is_v) throw Error("option placement", "a V takes two stages per actor", "chunks=2");
    return {options};
  }
  return is_v ? std::vector{two} : std::vector{options, two};
}

// The best over the sizes; no order of any is faster than the least of their bounds.
SearchResult searched(const GenerateOptions& options, const Arguments& arguments) {
  const std::vector<GenerateOptions> sizes = searched_sizes(options, arguments);
  std::optional<SearchResult> best;
  std::optional<Nanoseconds> bound;
  for (const GenerateOptions& each : sizes) {
    SearchOptions search = search_options(each);
    search.budget = std::max<std::int64_t>(1, search.budget / std::ssize(sizes));
    search.whole_actors = arguments.has("per-actor");
    SearchResult result = load_search()(costs_to_search(each, arguments), search);
    bound = std::min(bound.value_or(result.bound), result.bound);
    if (!best || result.makespan < best->makespan) best = std::move(result);
  }
  best->bound = *bound;
  return std::move(*best);
}

}  // namespace

NamedSchedule named_schedule(std::string_view name, GenerateOptions options,
                             const Arguments& arguments) {
  refuse_unknown(name);
  if (name == kSearched) {
    SearchResult result = searched(options, arguments);
    Schedule schedule = std::move(result.schedule);
    return {std::move(schedule), std::move(result)};
  }
  if (is_made_for_costs(name)) options.costs = costs_or_units(options, arguments);
  return {generate(name, options), std::nullopt};
}

std::string verdict(std::string_view label, const SearchResult& result) {
  return fmt::format("{}: {:.3f} ms, at least {:.3f} ms, gap {:.2f} %, {}\n", label,
                     to_ms(result.makespan), to_ms(result.bound), 100 * result.gap(),
                     result.origin);
}

nlohmann::ordered_json verdict_json(const SearchResult& result) {
  return {{"makespan_s", to_s(result.makespan)},
          {"bound_s", to_s(result.bound)},
          {"gap", result.gap()},
          {"origin", result.origin}};
}

}  // namespace penstock
