// The costs of the command line: "F=1,B=2,latency=0.1".
#include <cmath>

#include <fmt/format.h>

#include "costs_limits.h"
#include "penstock/costs.h"
#include "penstock/nearest.h"
#include "penstock/number_text.h"

namespace penstock {
namespace {

// What the keys of --costs set.
struct UniformCosts {
  StageCosts stage;
  std::optional<Nanoseconds> overlap_fb;
  Nanoseconds global_norm = 0;
};

struct CostKey {
  std::string_view name;
  double max;
  void (*set)(UniformCosts&, double);
};

template <OpKind kind>
void set_op(UniformCosts& costs, double ms) {
  costs.stage.op[static_cast<std::size_t>(kind)] = Duration{.base = from_ms(ms)};
}

constexpr CostKey kCostKeys[] = {
    {"F", kLongestMs, &set_op<OpKind::Forward>},
    {"B", kLongestMs, &set_op<OpKind::Backward>},
    {"I", kLongestMs, &set_op<OpKind::BackwardInput>},
    {"W", kLongestMs, &set_op<OpKind::BackwardWeight>},
    {"R", kLongestMs, &set_op<OpKind::Recompute>},
    {"latency", kLongestMs,
     [](UniformCosts& costs, double ms) { costs.stage.message.latency = from_ms(ms); }},
    {"bytes", kMostBytes,
     [](UniformCosts& costs, double bytes) { costs.stage.message.bytes = std::llround(bytes); }},
    {"bandwidth", 1e18,
     [](UniformCosts& costs, double rate) { costs.stage.message.bytes_per_s = rate; }},
    {"update", kLongestMs,
     [](UniformCosts& costs, double ms) { costs.stage.update = from_ms(ms); }},
    {"reduce", kLongestMs,
     [](UniformCosts& costs, double ms) { costs.stage.reduce = from_ms(ms); }},
    {"norm", kLongestMs, [](UniformCosts& costs, double ms) { costs.global_norm = from_ms(ms); }},
    {"activation", kMostBytes,
     [](UniformCosts& costs, double bytes) { costs.stage.activation_bytes = std::llround(bytes); }},
    {"kept", kMostBytes,
     [](UniformCosts& costs, double bytes) { costs.stage.kept_bytes = std::llround(bytes); }},
    {"left", kMostBytes,
     [](UniformCosts& costs, double bytes) { costs.stage.left_bytes = std::llround(bytes); }},
    {"weight", kMostBytes,
     [](UniformCosts& costs, double bytes) { costs.stage.weight_bytes = std::llround(bytes); }},
    {"overlap", kLongestMs, [](UniformCosts& costs, double ms) { costs.overlap_fb = from_ms(ms); }},
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

const CostKey* find_key(std::string_view name) {
  for (const CostKey& key : kCostKeys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

// Reads one "key=value" into `costs`; what is wrong with it, or nullopt.
std::optional<Problem> read_entry(std::string_view entry, UniformCosts& costs,
                                  std::vector<std::string_view>& seen) {
  const std::string where = fmt::format("costs '{}'", entry);
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos) {
    return Problem{where, "expected key=value", "as in F=1,B=2,latency=0.1"};
  }
  const std::string_view name = trimmed(entry.substr(0, equals));
  const CostKey* key = find_key(name);
  if (key == nullptr)
    return Problem{where, fmt::format("unknown key '{}'", name),
                   did_you_mean(name, kCostKeys, &CostKey::name)};
  for (const std::string_view before : seen) {
    if (before == name) return Problem{where, fmt::format("'{}' is given twice", name), {}};
  }
  seen.push_back(key->name);
  const std::string_view text = trimmed(entry.substr(equals + 1));
  const std::optional<double> value = parse_number<double>(text);
  if (!value) return Problem{where, fmt::format("'{}' is not a number", text), {}};
  if (!(*value >= 0 && *value <= key->max)) {  // NaN fails both
    return Problem{where, fmt::format("{} is out of range", text),
                   fmt::format("allowed: 0 to {}", key->max)};
  }
  key->set(costs, *value);
  return std::nullopt;
}

}  // namespace

CostTable parse_costs(std::string_view text, std::int32_t stages) {
  UniformCosts costs;
  std::vector<std::string_view> seen;
  std::vector<Problem> problems;
  while (true) {
    const std::size_t comma = text.find(',');
    if (auto problem = read_entry(trimmed(text.substr(0, comma)), costs, seen)) {
      problems.push_back(std::move(*problem));
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (auto problem = too_slow(costs.stage.message, "costs"))
    problems.push_back(std::move(*problem));
  if (auto problem = too_much_left(costs.stage, "costs")) problems.push_back(std::move(*problem));
  if (!problems.empty()) throw Error(std::move(problems));
  CostTable table = uniform_costs(stages, costs.stage);
  table.overlap_fb = costs.overlap_fb;
  table.global_norm = costs.global_norm;
  return table;
}

}  // namespace penstock
