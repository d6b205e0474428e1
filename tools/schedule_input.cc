#include "schedule_input.h"

#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "penstock/check.h"
#include "penstock/error.h"
#include "penstock/files.h"
#include "penstock/formats.h"
#include "penstock/lowering.h"
#include "penstock/nearest.h"
#include "search_input.h"
#include "words.h"

namespace penstock {
namespace {

std::map<std::string, std::string> key_values(const std::vector<std::string>& words) {
  std::map<std::string, std::string> values;
  for (const std::string& word : words) {
    const auto setting = key_value(word);
    if (!setting) throw UsageError(fmt::format("--option takes k=v, not '{}'", word));
    values[std::string(setting->first)] = setting->second;
  }
  return values;
}

bool names_a_generator(const std::string& word) {
  return word == kSearched || find_generator(word) != nullptr;
}

}  // namespace

Format format_of(const Arguments& arguments, std::string_view name) {
  const std::string& text = arguments.text(name);
  if (const auto format = parse_format(text)) return *format;
  std::vector<std::string_view> known;
  for (const Format format : formats()) {
    if (name == "from" || format != Format::TorchOld) known.push_back(penstock::name(format));
  }
  throw UsageError(
      fmt::format("--{}: no format is called '{}'; {}", name, text, did_you_mean(text, known)));
}

std::optional<Format> target_format(const Arguments& arguments) {
  if (arguments.has("to")) return format_of(arguments, "to");
  const std::string ending = std::filesystem::path(arguments.text_or("output", "")).extension();
  if (ending == ".json") return Format::Json;
  if (ending == ".txt") return Format::Text;
  if (ending == ".csv") return Format::TorchCompute;
  return std::nullopt;
}

std::optional<Format> format_from(const Arguments& arguments) {
  if (!arguments.has("from")) return std::nullopt;
  return format_of(arguments, "from");
}

MessagePlacement lowering_from(const Arguments& arguments) {
  const std::string& text = arguments.text("lowering");
  if (const auto placement = parse_lowering(text)) return *placement;
  throw UsageError(fmt::format("--lowering: no policy is called '{}'; {}", text,
                               did_you_mean(text, lowering_policies(), &LoweringPolicy::name)));
}

std::optional<Synchronization> synchronization_from(const Arguments& arguments) {
  if (!arguments.has("synchronization")) return std::nullopt;
  const std::string& text = arguments.text("synchronization");
  const auto synchronization = parse_synchronization(text);
  if (!synchronization) {
    throw UsageError(
        fmt::format("--synchronization takes flush or post_validation, not '{}'", text));
  }
  return synchronization;
}

GenerateOptions generate_options(const Arguments& arguments) {
  return {.actors = arguments.integer_or("actors", 1),
          .chunks = arguments.integer_or("chunks", 1),
          .microbatches = arguments.integer_or("microbatches", 1),
          .slices = arguments.integer_or("slices", 1),
          .option = key_values(arguments.list("option"))};
}

void refuse_sizes(const Arguments& arguments, const std::string& path) {
  for (const char* name : {"actors", "chunks", "microbatches", "slices", "option"}) {
    if (!arguments.has(name)) continue;
    throw UsageError(fmt::format(
        "--{} is for a schedule that is generated; {} brings its own sizes", name, path));
  }
}

Schedule checked_schedule(std::string_view content, const std::string& path,
                          const Arguments& arguments) {
  Schedule schedule = read_named_schedule(content, path, format_from(arguments));
  if (auto problems = check(schedule, path); !problems.empty()) throw Error(std::move(problems));
  return schedule;
}

Schedule read_checked_schedule(const std::string& path, const Arguments& arguments) {
  return checked_schedule(read_file(path), path, arguments);
}

Schedule schedule_from(const std::string& word, const Arguments& arguments) {
  // What looks like a path is one, so that a file that is not there is called that.
  const bool is_file =
      word == "-" || word.find_first_of("/.") != std::string::npos || std::filesystem::exists(word);
  if (is_file && !names_a_generator(word)) {
    refuse_sizes(arguments, word);
    return read_checked_schedule(word, arguments);
  }
  return named_schedule(word, generate_options(arguments), arguments).schedule;
}

namespace {

std::optional<CostTable> costs_as_given(const Arguments& arguments, std::int32_t entries) {
  if (arguments.has("costs") && arguments.has("costs-file")) {
    throw UsageError("--costs and --costs-file exclude each other");
  }
  if (arguments.has("costs")) return parse_costs(arguments.text("costs"), entries);
  if (!arguments.has("costs-file")) return std::nullopt;
  const std::string& path = arguments.text("costs-file");
  return read_costs(read_file(path), path);
}

}  // namespace

CostTable actor_costs(const Arguments& arguments, std::int32_t actors) {
  std::optional<CostTable> costs = costs_as_given(arguments, actors);
  if (!costs) throw UsageError("--per-actor says what --costs or --costs-file are of");
  if (std::ssize(costs->stages) == actors) return std::move(*costs);
  throw Error(arguments.text("costs-file"),
              fmt::format("costs of {} actors, the schedule has {}", costs->stages.size(), actors),
              "with --per-actor each entry of 'stages' is an actor");
}

std::optional<CostTable> costs_from(const Arguments& arguments, const Schedule& schedule) {
  const Pipeline& pipeline = schedule.pipeline;
  std::optional<CostTable> costs;
  if (arguments.has("per-actor")) {
    costs = share_costs(actor_costs(arguments, pipeline.actors), pipeline);
  } else {
    costs = costs_as_given(arguments, static_cast<std::int32_t>(pipeline.stages.size()));
    if (costs) costs = costs_of_copies(std::move(*costs), pipeline);
  }
  if (!costs) return std::nullopt;
  if (auto problems = missing_costs(*costs, schedule); !problems.empty()) {
    throw Error(std::move(problems));
  }
  return costs;
}

CostTable unit_costs(const Schedule& schedule) {
  return parse_costs("F=1,B=2,I=1,W=1,R=1",
                     static_cast<std::int32_t>(schedule.pipeline.stages.size()));
}

}  // namespace penstock
