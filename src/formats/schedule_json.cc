#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/readers.h"
#include "json_reader.h"
#include "json_text.h"
#include "penstock/nearest.h"

namespace penstock {
namespace {

constexpr IntegerRule kIndex = {.required = true, .max = kMostItems - 1};
constexpr IntegerRule kCount = {.required = true, .min = 1, .max = kMostItems, .fallback = 1};

std::int32_t index_of(const JsonReader& value) {
  return static_cast<std::int32_t>(value.as_integer(kIndex));
}

// Calls read(element) for each element; nothing when `value` is no array.
template <typename Read>
auto read_array(const JsonReader& value, Read read) {
  std::vector<decltype(read(value))> result;
  if (!value.is_array()) return result;
  if (value.size() > static_cast<std::size_t>(kMostItems)) {
    value.problem(fmt::format("more than {} entries", kMostItems));
    return result;
  }
  result.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) result.push_back(read(value.at(i)));
  return result;
}

Stage read_stage(const JsonReader& value) {
  value.only({"actor", "part"});
  return {.actor = static_cast<std::int32_t>(value.integer("actor", kIndex)),
          .part = static_cast<std::int32_t>(value.integer("part", kIndex))};
}

std::vector<Route> read_routes(const JsonReader& root, std::size_t stages) {
  if (root.has("routes")) {
    return read_array(root.at("routes"),
                      [](const JsonReader& route) { return read_array(route, index_of); });
  }
  Route all(stages);
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

Microbatch read_microbatch(const JsonReader& value) {
  value.only({"route", "sequences", "slice_tokens"});
  Microbatch microbatch;
  microbatch.route = static_cast<std::int32_t>(value.integer("route", {.max = kMostItems - 1}));
  microbatch.sequences =
      static_cast<std::int32_t>(value.integer("sequences", {.min = 1, .fallback = 1}));
  if (value.has("slice_tokens")) {
    microbatch.slice_tokens = read_array(value.at("slice_tokens"), [](const JsonReader& tokens) {
      return static_cast<std::int32_t>(tokens.as_integer({.min = 1, .fallback = 1}));
    });
  }
  return microbatch;
}

std::vector<Microbatch> read_microbatches(const JsonReader& root) {
  if (root.has("microbatches") && root.at("microbatches").value().is_array()) {
    return read_array(root.at("microbatches"), read_microbatch);
  }
  return std::vector<Microbatch>(static_cast<std::size_t>(root.integer("microbatches", kCount)));
}

// The member `key`, the name of one of `values`; `fallback` when it is absent.
template <typename Value, std::size_t size>
Value read_name(const JsonReader& object, std::string_view key, const Value (&values)[size],
                Value fallback) {
  if (!object.has(key)) return fallback;
  const std::string text = object.text(key);
  std::vector<std::string_view> known;
  for (const Value value : values) {
    if (text == name(value)) return value;
    known.push_back(name(value));
  }
  if (object.at(key).value().is_string()) {
    object.at(key).problem(fmt::format("unknown {} '{}'", key, shortened(text)),
                           did_you_mean(text, known));
  }
  return fallback;
}

Learning read_learning(const JsonReader& root) {
  Learning learning;
  if (!root.has("learning")) return learning;
  const JsonReader value = root.at("learning");
  if (!value.is_object()) return learning;
  value.only({"kind", "window", "stride", "combine", "aux", "queue_capacity"});
  if (!value.has("kind")) {
    value.problem("'kind' is missing", R"(as in {"kind": "windows", "window": 2, "stride": 1})");
  }
  constexpr IntegerRule kStages = {.min = 1, .max = kMostItems, .fallback = 1};
  learning.kind = read_name(value, "kind", kLearningKinds, learning.kind);
  learning.window = static_cast<std::int32_t>(value.integer("window", kStages));
  learning.stride = static_cast<std::int32_t>(value.integer("stride", kStages));
  learning.combine = read_name(value, "combine", kCombines, learning.combine);
  learning.aux = read_name(value, "aux", kAuxHeads, learning.aux);
  if (value.has("queue_capacity")) {
    learning.queue_capacity = static_cast<std::int32_t>(value.integer("queue_capacity", kStages));
  }
  return learning;
}

void report_entry(const JsonReader& entry) {
  const std::string text = entry.as_text();
  if (!entry.value().is_string()) return;
  entry.problem(fmt::format("'{}' is not an op", shortened(text)), std::string(kEntryHint));
}

std::vector<Step> read_order(const JsonReader& actor) {
  std::vector<Step> order;
  if (!actor.is_array()) return order;
  order.reserve(actor.size());
  for (std::size_t i = 0; i < actor.size(); ++i) {
    const nlohmann::json& value = actor.value()[i];
    std::vector<Step> steps;
    if (value.is_string()) steps = parse_entry(value.get_ref<const std::string&>());
    if (steps.empty()) report_entry(actor.at(i));
    order.insert(order.end(), steps.begin(), steps.end());
  }
  return order;
}

// The member and what follows it; nothing for plain backpropagation.
std::string learning_text(const Learning& learning) {
  if (learning == Learning{}) return {};
  std::string text = fmt::format("  \"learning\": {{\"kind\": \"{}\"", name(learning.kind));
  const Learning plain{.kind = learning.kind, .queue_capacity = learning.queue_capacity};
  if (learning.kind == LearningKind::Local || learning != plain) {
    text +=
        fmt::format(R"(, "window": {}, "stride": {}, "combine": "{}", "aux": "{}")",
                    learning.window, learning.stride, name(learning.combine), name(learning.aux));
  }
  if (learning.queue_capacity > 0) {
    text += fmt::format(", \"queue_capacity\": {}", learning.queue_capacity);
  }
  return text + "},\n";
}

std::string microbatch_text(const Microbatch& microbatch) {
  std::string text =
      fmt::format("{{\"route\": {}, \"sequences\": {}", microbatch.route, microbatch.sequences);
  if (!microbatch.slice_tokens.empty()) {
    text += fmt::format(", \"slice_tokens\": [{}]", fmt::join(microbatch.slice_tokens, ", "));
  }
  return text + "}";
}

std::string microbatches_text(const std::vector<Microbatch>& microbatches) {
  const Microbatch plain;
  if (!microbatches.empty() &&
      std::all_of(microbatches.begin(), microbatches.end(),
                  [&](const Microbatch& microbatch) { return microbatch == plain; })) {
    return std::to_string(microbatches.size());
  }
  std::vector<std::string> lines;
  for (const Microbatch& microbatch : microbatches) lines.push_back(microbatch_text(microbatch));
  return fmt::format("[\n    {}\n  ]", fmt::join(lines, ",\n    "));
}

}  // namespace

Schedule read_schedule_json(std::string_view content, const std::string& where) {
  std::vector<Problem> problems;
  const nlohmann::json document = parse_json(content, where);
  const JsonReader root(document, where, problems);
  if (root.has("penstock") && !root.has("penstock_schedule")) {
    throw Error(where, "an experiment, not a schedule", "simulate, profile and train take it");
  }
  if (root.has("traceEvents") && !root.has("penstock_schedule")) {
    throw Error(where, "a trace, not a schedule",
                "'penstock convert --from kineto' reads the traces of torch's profiler");
  }
  if (root.is_object()) {
    root.only({"penstock_schedule", "name", "actors", "stages", "routes", "microbatches",
               "learning", "order"});
    root.integer("penstock_schedule", {.required = true, .min = 1, .max = 1});
  }
  Schedule schedule;
  schedule.name = root.text("name");
  Pipeline& pipeline = schedule.pipeline;
  pipeline.actors = static_cast<std::int32_t>(root.integer("actors", kCount));
  if (const auto stages = root.required("stages", "{\"actor\", \"part\"} for every stage")) {
    pipeline.stages = read_array(*stages, read_stage);
  }
  pipeline.routes = read_routes(root, pipeline.stages.size());
  pipeline.microbatches = read_microbatches(root);
  pipeline.learning = read_learning(root);
  if (const auto order = root.required("order", "a list of ops for every actor")) {
    schedule.order = read_array(*order, read_order);
  }
  if (!problems.empty()) throw Error(problems);
  return schedule;
}

std::string write_schedule_json(const Schedule& schedule) {
  const Pipeline& pipeline = schedule.pipeline;
  std::vector<std::string> stages;
  for (const Stage& stage : pipeline.stages) {
    stages.push_back(fmt::format("{{\"actor\": {}, \"part\": {}}}", stage.actor, stage.part));
  }
  std::vector<std::string> routes;
  for (const Route& route : pipeline.routes) {
    routes.push_back(fmt::format("[{}]", fmt::join(route, ", ")));
  }
  std::vector<std::string> order;
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    const std::vector<std::string> texts = entries(schedule, actor);
    order.push_back(texts.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(texts, "\", \"")));
  }
  std::string text = "{\n  \"penstock_schedule\": 1,\n";
  text += fmt::format("  \"name\": {},\n  \"actors\": {},\n", json_string(schedule.name),
                      pipeline.actors);
  text += fmt::format("  \"stages\": [\n    {}\n  ],\n", fmt::join(stages, ",\n    "));
  text += fmt::format("  \"routes\": [\n    {}\n  ],\n", fmt::join(routes, ",\n    "));
  text += fmt::format("  \"microbatches\": {},\n", microbatches_text(pipeline.microbatches));
  text += learning_text(pipeline.learning);
  text += fmt::format("  \"order\": [\n    {}\n  ]\n}}\n", fmt::join(order, ",\n    "));
  return text;
}

}  // namespace penstock
