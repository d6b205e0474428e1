// Reads the experiment file: one function per object of it.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "costs_object.h"
#include "experiment_machines.h"
#include "json_text.h"
#include "penstock/error.h"
#include "penstock/experiment.h"
#include "penstock/files.h"
#include "penstock/generate.h"
#include "penstock/nearest.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

// --set a.b.c=value, as if the file said so.
void override_key(Json& document, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--set " + setting, "expected key=value", "as in --set parallel.pipeline=4");
  }
  const std::string key = setting.substr(0, equals);
  const std::string typed = setting.substr(equals + 1);
  Json value = Json::parse(typed, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) value = typed;  // a bare word is a string
  Json* place = &document;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    if (place->is_null()) *place = Json::object();
    if (!place->is_object() || dot == begin) {
      throw Error("--set " + setting, fmt::format("'{}' is not a key of an object", key));
    }
    place = &(*place)[key.substr(begin, dot - begin)];
    begin = dot + 1;
  }
  *place = std::move(value);
}

// A schedule has a name or a file. The one that the command line gives takes the place of the
// experiment's other one, and a file that of what is for a schedule that is generated.
void replace_schedule(Json& document, const std::vector<std::string>& set) {
  const auto gives = [&set](std::string_view key) {
    return std::any_of(set.begin(), set.end(),
                       [key](const std::string& setting) { return setting.starts_with(key); });
  };
  const bool names = gives("schedule.name=");
  const bool brings = gives("schedule.file=");
  if (names == brings || !document.is_object()) return;
  const auto schedule = document.find("schedule");
  if (schedule == document.end() || !schedule->is_object()) return;
  if (names) schedule->erase("file");
  if (!brings) return;
  for (const char* key : {"name", "option", "slices"}) schedule->erase(key);
}

void refuse(const JsonReader& object, std::string_view key, const Json& neutral) {
  if (!object.has(key) || object.at(key).value() == neutral ||
      object.at(key).value() == Json::array()) {
    return;
  }
  object.at(key).problem(fmt::format("'{}' is not supported by this version", key), "leave it out");
}

Batch read_batch(const JsonReader& batch) {
  batch.only({"global", "micro", "sequence"});
  const IntegerRule size{.min = 1, .max = 1 << 24, .fallback = 1};
  const IntegerRule tokens{.min = 1, .max = 1 << 24, .fallback = 0};
  Batch read;
  read.micro = static_cast<std::int32_t>(batch.integer("micro", size));
  // Left out or refused, it is one microbatch: nothing more to say about it.
  const IntegerRule global{.min = 1, .max = 1 << 24, .fallback = read.micro};
  read.global = static_cast<std::int32_t>(batch.integer("global", global));
  read.sequence = static_cast<std::int32_t>(batch.integer("sequence", tokens));
  if (read.global % read.micro != 0) {
    batch.problem(
        fmt::format("global ({}) is not a multiple of micro ({})", read.global, read.micro),
        "each microbatch has `micro` sequences");
  }
  if (std::int64_t{read.micro} * read.sequence > INT32_MAX) {
    batch.problem(fmt::format("micro ({}) times sequence ({}) is more than {} tokens", read.micro,
                              read.sequence, INT32_MAX));
  }
  return read;
}

std::map<std::string, std::string> read_options(const JsonReader& option) {
  std::map<std::string, std::string> options;
  if (!option.is_object()) return options;
  for (const auto& [key, value] : option.value().items()) {
    options[key] = value.is_string() ? value.get<std::string>() : json_text(value);
  }
  return options;
}

ScheduleChoice read_schedule_choice(const JsonReader& schedule, const std::string& file) {
  schedule.only({"name", "file", "option", "slices", "layout"});
  ScheduleChoice choice;
  choice.name = schedule.text("name");
  if (schedule.has("file")) choice.file = file_named(schedule, "file", file);
  if (schedule.has("name") == schedule.has("file")) {
    schedule.problem("give either 'name' or 'file'", "`penstock list schedules` has the names");
  }
  for (const char* key : {"option", "slices"}) {
    if (!schedule.has("file") || !schedule.has(key)) continue;
    schedule.at(key).problem("is for a schedule that is generated; the file brings its own",
                             "leave it out");
  }
  if (schedule.has("option")) choice.option = read_options(schedule.at("option"));
  choice.slices = static_cast<std::int32_t>(
      schedule.integer("slices", {.min = 1, .max = 65536, .fallback = 1}));
  choice.layout = schedule.text("layout");
  return choice;
}

Synchronization read_synchronization(const JsonReader& optimizer) {
  const std::string text = optimizer.text("synchronization", "flush");
  if (const auto synchronization = parse_synchronization(text)) return *synchronization;
  const std::string_view known[] = {name(Synchronization::Flush),
                                    name(Synchronization::PostValidation)};
  optimizer.at("synchronization")
      .problem(fmt::format("unknown choice '{}'", text), did_you_mean(text, known));
  return Synchronization::Flush;
}

Optimizer read_optimizer(const JsonReader& optimizer) {
  optimizer.only({"name", "lr", "min_lr", "warmup_steps", "beta1", "beta2", "epsilon",
                  "weight_decay", "clip", "synchronization"});
  const Optimizer usual;
  Optimizer read;
  read.name = optimizer.text("name", usual.name);
  if (read.name != "adamw") {
    optimizer.problem(fmt::format("unknown optimizer '{}'", read.name), "known: adamw");
  }
  read.lr = optimizer.number("lr", {.fallback = usual.lr});
  read.min_lr = optimizer.number("min_lr", {.fallback = usual.min_lr});
  read.warmup_steps = static_cast<std::int32_t>(optimizer.integer("warmup_steps"));
  read.beta1 = optimizer.number("beta1", {.max = 0.999999999, .fallback = usual.beta1});
  read.beta2 = optimizer.number("beta2", {.max = 0.999999999, .fallback = usual.beta2});
  read.epsilon = optimizer.number("epsilon", {.min = 1e-30, .max = 1, .fallback = usual.epsilon});
  read.weight_decay =
      optimizer.number("weight_decay", {.max = 1e3, .fallback = usual.weight_decay});
  read.clip = optimizer.number("clip", {.fallback = usual.clip});
  read.synchronization = read_synchronization(optimizer);
  return read;
}

DeviceKind read_device(const JsonReader& train) {
  const std::string device = train.text("device", "auto");
  if (device == "auto") return DeviceKind::Auto;
  if (device == "cpu") return DeviceKind::Cpu;
  if (device == "sleep") return DeviceKind::Sleep;
  constexpr std::string_view kDevices[] = {"auto", "cpu", "sleep"};
  train.at("device").problem(fmt::format("unknown device '{}'", device),
                             did_you_mean(device, kDevices));
  return DeviceKind::Auto;
}

RecomputeChoice read_recompute(const JsonReader& root) {
  const std::string text = root.text("recompute", "none");
  std::vector<std::string_view> known;
  for (const RecomputeChoice choice :
       {RecomputeChoice::None, RecomputeChoice::Selective, RecomputeChoice::Full}) {
    if (text == name(choice)) return choice;
    known.push_back(name(choice));
  }
  root.at("recompute").problem(fmt::format("unknown choice '{}'", text), did_you_mean(text, known));
  return RecomputeChoice::None;
}

TrainSettings read_train(const JsonReader& train, const std::string& file) {
  train.only({"data", "token_bytes", "steps", "optimizer", "seed", "device", "checkpoint_every"});
  TrainSettings read;
  if (train.has("data")) read.data = beside(file, train.text("data"));
  read.token_bytes = static_cast<std::int32_t>(train.integer("token_bytes", {.max = 4}));
  read.steps = static_cast<std::int32_t>(
      train.integer("steps", {.min = 1, .max = 1000000000, .fallback = read.steps}));
  if (train.has("optimizer")) read.optimizer = read_optimizer(train.at("optimizer"));
  read.seed = static_cast<std::uint64_t>(train.integer("seed", {.max = INT64_MAX, .fallback = 1}));
  read.device = read_device(train);
  refuse(train, "checkpoint_every", 0);
  return read;
}

void read_costs_file(const JsonReader& costs, Experiment& experiment,
                     std::vector<Problem>& problems) {
  for (const auto& [key, unused] : costs.value().items()) {
    if (key == "file" || !costs.has(key)) continue;
    costs.at(key).problem("stands beside 'file'", "it belongs into that file");
  }
  const std::string path = file_named(costs, "file", experiment.file);
  if (path.empty()) return;
  experiment.cost_table = collect(problems, [&] { return read_costs(read_file(path), path); });
}

void read_costs_object(const JsonReader& costs, Experiment& experiment,
                       std::vector<Problem>& problems) {
  if (!costs.is_object()) return;
  const int given =
      costs.has("uniform") + costs.has("stages") + costs.has("file") + costs.has("source");
  if (given != 1) {
    costs.problem("give one of 'uniform', 'stages', 'file', 'source'");
  } else if (costs.has("source")) {
    experiment.estimates_costs = read_cost_source(costs);
  } else if (costs.has("uniform")) {
    experiment.uniform_costs = uniform_costs_from_object(costs);
  } else if (costs.has("stages")) {
    experiment.cost_table = costs_from_object(costs);
  } else {
    read_costs_file(costs, experiment, problems);
  }
}

void read_model_file(const JsonReader& root, Experiment& experiment,
                     std::vector<Problem>& problems) {
  experiment.model_file = file_named(root, "model", experiment.file);
  if (experiment.model_file.empty()) return;
  const std::size_t before = problems.size();
  const Model model = collect(problems, [&] {
    return read_model(read_file(experiment.model_file), experiment.model_file);
  });
  if (problems.size() == before) experiment.model = model;
}

void check_sequence(const JsonReader& root, const Experiment& experiment) {
  if (!experiment.model) return;
  const std::int32_t tokens = experiment.batch.sequence;
  const bool given = root.has("batch") && root.at("batch").has("sequence");
  if (!given) root.problem("'batch.sequence' is missing", "a model needs tokens per sequence");
  if (tokens > experiment.model->max_positions) {
    root.problem(fmt::format("batch.sequence is {}, but the model has {} positions", tokens,
                             experiment.model->max_positions));
  }
}

void check_device(const JsonReader& root, const Experiment& experiment) {
  const bool sleeps = experiment.train.device == DeviceKind::Sleep;
  if (sleeps && !experiment.uniform_costs && !experiment.cost_table) {
    root.problem("the sleep device needs 'costs': how long each op waits",
                 "as in \"costs\": {\"uniform\": {\"forward_ms\": 5, \"backward_ms\": 10}}");
  }
}

}  // namespace

bool is_experiment(std::string_view content, const std::string& where) {
  const std::size_t begin = content.find_first_not_of(" \t\r\n");
  const std::string_view opening = content.substr(std::min(begin, content.size()));
  if (!opening.starts_with('{') && !opening.starts_with("\xEF\xBB\xBF{")) return false;
  const Json document = parse_json(content, where);
  if (!document.is_object() || document.contains("penstock_schedule")) return false;
  if (document.contains("traceEvents")) {
    throw Error(where, "is a trace, not an experiment or a schedule", "show it: penstock report");
  }
  if (!document.contains("penstock")) {
    throw Error(where, "is neither an experiment nor a schedule",
                "an experiment has the key \"penstock\", a schedule \"penstock_schedule\"");
  }
  return true;
}

Experiment read_experiment(const std::string& path, const std::vector<std::string>& set) {
  return parse_experiment(read_file(path), path, set);
}

Experiment parse_experiment(std::string_view content, const std::string& path,
                            const std::vector<std::string>& set) {
  Json document = parse_json(content, path);
  replace_schedule(document, set);
  for (const std::string& setting : set) override_key(document, setting);
  std::vector<Problem> problems;
  const JsonReader root(document, path, problems);
  root.only({"penstock", "name", "model", "cluster", "parallel", "batch", "precision", "gradients",
             "recompute", "schedule", "costs", "baselines", "train"});
  root.integer("penstock", {.required = true, .min = 1, .max = 1, .fallback = 1});
  refuse(root, "baselines", nullptr);
  Experiment experiment;
  experiment.file = path;
  experiment.name = root.text("name", std::filesystem::path(path).stem().string());
  if (root.has("model")) read_model_file(root, experiment, problems);
  if (root.has("parallel")) read_parallel(root.at("parallel"), experiment);
  if (root.has("precision")) experiment.precision = read_precision(root, "precision");
  if (root.has("gradients")) experiment.gradients = read_precision(root, "gradients");
  if (experiment.gradients == Precision::Fp8) {
    root.at("gradients").problem("no sums are kept in fp8", "fp32, fp16 or bf16");
  }
  if (root.has("cluster")) read_cluster_choice(root, experiment, problems);
  if (root.has("batch")) experiment.batch = read_batch(root.at("batch"));
  if (root.has("schedule")) {
    experiment.schedule = read_schedule_choice(root.at("schedule"), path);
  } else {
    root.problem("'schedule' is missing",
                 "as in \"schedule\": {\"name\": NAME}; `penstock list schedules` has the names");
  }
  experiment.recompute = read_recompute(root);
  if (root.has("costs")) read_costs_object(root.at("costs"), experiment, problems);
  if (root.has("train")) experiment.train = read_train(root.at("train"), path);
  if (!experiment.schedule.layout.empty() && !root.has("model")) {
    root.problem("'schedule.layout' splits a model, and there is no 'model'");
  }
  check_sequence(root, experiment);
  check_replicas(root, experiment);
  check_machines(root, experiment, problems);
  check_device(root, experiment);
  if (!problems.empty()) throw Error(std::move(problems));
  return experiment;
}

}  // namespace penstock
