// The costs file: one format for --costs-file, the profile and experiments.
#include <nlohmann/json.hpp>

#include "costs_limits.h"
#include "costs_links.h"
#include "costs_object.h"
#include "json_text.h"

namespace penstock {
namespace {

constexpr NumberRule kMilliseconds{.max = kLongestMs};
constexpr IntegerRule kBytes{.max = kMostBytes};

Nanoseconds milliseconds(const JsonReader& object, std::string_view key) {
  return from_ms(object.number(key, kMilliseconds));
}

// What one value is: a time, or bytes.
using ReadValue = std::int64_t (*)(const JsonReader&);

std::int64_t read_time(const JsonReader& value) {
  return from_ms(value.as_number(kMilliseconds));
}

std::int64_t read_count(const JsonReader& value) {
  return value.as_integer(kBytes);
}

std::vector<std::int64_t> read_slices(const JsonReader& array, ReadValue read) {
  std::vector<std::int64_t> slices;
  for (std::size_t i = 0; i < array.size(); ++i) slices.push_back(read(array.at(i)));
  if (slices.empty()) array.problem("an empty array", "give one number per slice");
  return slices;
}

struct Varied {
  std::vector<std::vector<std::int64_t>> rows;
  bool by_microbatch = false;
};

// An array per slice, or an array per microbatch of arrays per slice.
Varied read_varied(const JsonReader& array, ReadValue read) {
  Varied varied{.rows = {}, .by_microbatch = array.size() > 0 && array.value().front().is_array()};
  if (!varied.by_microbatch) {
    varied.rows.push_back(read_slices(array, read));
    return varied;
  }
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (array.at(i).is_array()) varied.rows.push_back(read_slices(array.at(i), read));
  }
  return varied;
}

Duration read_duration(const JsonReader& value) {
  if (!value.value().is_array()) return {.base = read_time(value)};
  Varied varied = read_varied(value, read_time);
  return {.varied = std::move(varied.rows), .microbatch_varies = varied.by_microbatch};
}

void read_bytes(const JsonReader& message, MessageCost& cost) {
  if (!message.has("bytes") || !message.at("bytes").value().is_array()) {
    cost.bytes = message.integer("bytes", kBytes);
    return;
  }
  Varied varied = read_varied(message.at("bytes"), read_count);
  cost.varied = std::move(varied.rows);
  cost.microbatch_varies = varied.by_microbatch;
}

// `otherwise` holds the file's defaults for all stages.
MessageCost read_message(const JsonReader& stage, const MessageCost& otherwise) {
  if (!stage.has("message")) return otherwise;
  const JsonReader message = stage.at("message");
  message.only({"bytes", "latency_ms", "bytes_per_s"});
  MessageCost cost = otherwise;
  read_bytes(message, cost);
  if (message.has("latency_ms")) cost.latency = milliseconds(message, "latency_ms");
  cost.bytes_per_s = message.number("bytes_per_s");
  if (const auto problem = too_slow(cost, message.place())) {
    message.problem(problem->what, problem->hint);
  }
  return cost;
}

std::string key_of(OpKind kind) {
  return std::string(name(kind)) + "_ms";
}

StageCosts read_stage(const JsonReader& stage, const MessageCost& message) {
  stage.only({"forward_ms", "backward_ms", "backward_input_ms", "backward_weight_ms",
              "recompute_ms", "update_ms", "reduce_ms", "message", "activation_bytes", "kept_bytes",
              "left_bytes", "weight_bytes"});
  StageCosts costs;
  for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
    const std::string key = key_of(static_cast<OpKind>(kind));
    if (stage.has(key)) costs.op[kind] = read_duration(stage.at(key));
  }
  costs.update = milliseconds(stage, "update_ms");
  costs.reduce = milliseconds(stage, "reduce_ms");
  costs.message = read_message(stage, message);
  costs.activation_bytes = stage.integer("activation_bytes", kBytes);
  if (stage.has("kept_bytes")) costs.kept_bytes = stage.integer("kept_bytes", kBytes);
  if (stage.has("left_bytes")) costs.left_bytes = stage.integer("left_bytes", kBytes);
  costs.weight_bytes = stage.integer("weight_bytes", kBytes);
  if (const auto problem = too_much_left(costs, stage.place("left_bytes"))) {
    stage.at("left_bytes").problem(problem->what, problem->hint);
  }
  return costs;
}

// The file's defaults for the messages of all stages.
MessageCost usual_message(const JsonReader& root) {
  return {.latency = milliseconds(root, "latency_ms")};
}

std::vector<StageCosts> read_stages(const JsonReader& root) {
  const MessageCost message = usual_message(root);
  std::vector<StageCosts> stages;
  if (!root.has("stages")) {
    root.problem("'stages' is missing",
                 R"(as in {"stages": [{"forward_ms": 1, "backward_ms": 2}]})");
    return stages;
  }
  const JsonReader list = root.at("stages");
  if (!list.is_array()) return stages;
  for (std::size_t i = 0; i < list.size(); ++i) stages.push_back(read_stage(list.at(i), message));
  if (stages.empty()) list.problem("no stage is given", {});
  return stages;
}

// What belongs to no stage.
CostTable read_rest(const JsonReader& root) {
  CostTable costs;
  if (root.has("overlap_fb_ms")) costs.overlap_fb = milliseconds(root, "overlap_fb_ms");
  costs.global_norm = milliseconds(root, "global_norm_ms");
  costs.links = read_links(root);
  if (root.has("machine") && root.at("machine").is_object()) {
    costs.machine = json_text(root.at("machine").value());
  }
  return costs;
}

nlohmann::ordered_json written(const Duration& duration) {
  if (duration.varied.empty()) return to_ms(duration.base);
  auto rows = nlohmann::ordered_json::array();
  for (const std::vector<Nanoseconds>& slices : duration.varied) {
    auto row = nlohmann::ordered_json::array();
    for (const Nanoseconds time : slices) row.push_back(to_ms(time));
    rows.push_back(std::move(row));
  }
  return duration.microbatch_varies ? rows : rows.front();
}

nlohmann::ordered_json written_bytes(const MessageCost& message) {
  if (message.varied.empty()) return message.bytes;
  if (message.microbatch_varies) return message.varied;
  return message.varied.front();
}

nlohmann::ordered_json written(const StageCosts& costs) {
  nlohmann::ordered_json stage;
  for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
    if (costs.op[kind]) stage[key_of(static_cast<OpKind>(kind))] = written(*costs.op[kind]);
  }
  stage["update_ms"] = to_ms(costs.update);
  stage["reduce_ms"] = to_ms(costs.reduce);
  stage["message"] = {{"bytes", written_bytes(costs.message)},
                      {"latency_ms", to_ms(costs.message.latency)},
                      {"bytes_per_s", costs.message.bytes_per_s}};
  stage["activation_bytes"] = costs.activation_bytes;
  if (costs.kept_bytes) stage["kept_bytes"] = *costs.kept_bytes;
  if (costs.left_bytes) stage["left_bytes"] = *costs.left_bytes;
  stage["weight_bytes"] = costs.weight_bytes;
  return stage;
}

}  // namespace

CostTable costs_from_object(const JsonReader& object) {
  object.only({"stages", "latency_ms", "overlap_fb_ms", "global_norm_ms", "links", "machine"});
  CostTable costs = read_rest(object);
  if (object.value().is_object()) costs.stages = read_stages(object);
  return costs;
}

CostTable uniform_costs_from_object(const JsonReader& object) {
  object.only({"uniform", "latency_ms", "overlap_fb_ms", "global_norm_ms", "links", "machine"});
  CostTable costs = read_rest(object);
  costs.stages.push_back(read_stage(object.at("uniform"), usual_message(object)));
  return costs;
}

CostTable read_costs(std::string_view json, const std::string& where) {
  const nlohmann::json document = parse_json(json, where);
  std::vector<Problem> problems;
  const CostTable costs = costs_from_object(JsonReader(document, where, problems));
  if (!problems.empty()) throw Error(std::move(problems));
  return costs;
}

std::string write_costs(const CostTable& costs) {
  nlohmann::ordered_json document;
  document["stages"] = nlohmann::ordered_json::array();
  for (const StageCosts& stage : costs.stages) document["stages"].push_back(written(stage));
  if (costs.overlap_fb) document["overlap_fb_ms"] = to_ms(*costs.overlap_fb);
  document["global_norm_ms"] = to_ms(costs.global_norm);
  if (!costs.links.empty()) document["links"] = written(costs.links);
  if (!costs.machine.empty()) {
    document["machine"] = nlohmann::ordered_json::parse(costs.machine);
  }
  return document.dump(1) + "\n";
}

}  // namespace penstock
