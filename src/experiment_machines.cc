#include "experiment_machines.h"

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "penstock/files.h"
#include "penstock/nearest.h"

namespace penstock {
namespace {

// Whether the file says how many nodes there are to use, and so how many devices.
bool counts_nodes(const JsonReader& root) {
  return root.has("cluster") && root.at("cluster").value().is_object() &&
         root.at("cluster").has("nodes");
}

// Sizes that the cluster has no say in.
void check_degrees(const Experiment& experiment, std::vector<Problem>& problems) {
  const Parallel& parallel = experiment.parallel;
  const bool is_spread = parallel.devices() > parallel.pipeline || parallel.expert > 1;
  if (!experiment.model || experiment.batch.sequence == 0 || !is_spread) return;
  for (Problem& problem : check_parallel(parallel, *experiment.model, experiment.batch.sequence,
                                         experiment.file + ":/parallel")) {
    problems.push_back(std::move(problem));
  }
}

void check_estimated(const Experiment& experiment, std::vector<Problem>& problems) {
  const std::string where = experiment.file + ":/parallel";
  for (Problem& problem : check_estimate(estimate_input(experiment), where)) {
    if (problem.where == where + "/precision") problem.where = experiment.file + ":/precision";
    problems.push_back(std::move(problem));
  }
}

}  // namespace

std::string beside(const std::string& file, const std::string& path) {
  const std::filesystem::path given(path);
  if (given.is_absolute()) return path;
  return (std::filesystem::path(file).parent_path() / given).lexically_normal().string();
}

std::string file_named(const JsonReader& object, std::string_view key, const std::string& file) {
  const std::string name = object.text(key);
  if (name.empty() && object.at(key).value().is_string()) {
    object.at(key).problem("names no file", "paths are relative to the experiment");
  }
  return name.empty() ? name : beside(file, name);
}

void read_parallel(const JsonReader& parallel, Experiment& experiment) {
  parallel.only({"pipeline", "chunks", "tensor", "data", "context", "expert", "expert_tensor",
                 "sequence", "zero", "order"});
  const auto degree = [&](std::string_view key) {
    return static_cast<std::int32_t>(
        parallel.integer(key, {.min = 1, .max = 65536, .fallback = 1}));
  };
  experiment.parallel = {.pipeline = degree("pipeline"),
                         .chunks = degree("chunks"),
                         .tensor = degree("tensor"),
                         .sequence = parallel.boolean("sequence", false),
                         .context = degree("context"),
                         .data = degree("data"),
                         .expert = degree("expert"),
                         .zero = static_cast<std::int32_t>(parallel.integer("zero", {.max = 3}))};
  if (parallel.has("expert_tensor")) experiment.parallel.expert_tensor = degree("expert_tensor");
  experiment.order = parallel.text("order", experiment.order);
}

Precision read_precision(const JsonReader& root, std::string_view key) {
  const std::string text = root.text(key);
  if (const auto precision = parse_precision(text)) return *precision;
  if (!root.at(key).value().is_string()) return Precision::Fp32;  // told already
  constexpr std::array<std::string_view, 4> kKnown = {"fp32", "fp16", "bf16", "fp8"};
  root.at(key).problem(fmt::format("unknown precision '{}'", text), did_you_mean(text, kKnown));
  return Precision::Fp32;
}

void read_cluster_choice(const JsonReader& root, Experiment& experiment,
                         std::vector<Problem>& problems) {
  const JsonReader choice = root.at("cluster");
  const bool is_object = choice.value().is_object();
  if (is_object) {
    choice.only({"file", "nodes"});
    if (!choice.required("file", "the path of a cluster file")) return;
  }
  const JsonReader& holder = is_object ? choice : root;
  experiment.cluster_file = file_named(holder, is_object ? "file" : "cluster", experiment.file);
  if (experiment.cluster_file.empty()) return;
  const std::size_t before = problems.size();
  Cluster cluster = collect(problems, [&] {
    return read_cluster(read_file(experiment.cluster_file), experiment.cluster_file);
  });
  if (problems.size() > before) return;
  if (counts_nodes(root)) {
    cluster.nodes = static_cast<std::int32_t>(
        choice.integer("nodes", {.min = 1, .max = cluster.nodes, .fallback = cluster.nodes}));
  }
  experiment.cluster = std::move(cluster);
}

bool read_cost_source(const JsonReader& costs) {
  const std::string source = costs.text("source");
  if (source == "estimate") return true;
  costs.at("source").problem(fmt::format("unknown source '{}'", source), "known: estimate");
  return false;
}

void check_replicas(const JsonReader& root, const Experiment& experiment) {
  const Batch& batch = experiment.batch;
  const std::int32_t data = experiment.parallel.data;
  if (batch.global % batch.micro != 0) return;  // told already
  if (batch.global / batch.micro % data == 0) return;
  const std::int64_t at_once = std::int64_t{batch.micro} * data;
  root.problem(
      fmt::format("batch.global ({}) is not a multiple of batch.micro x parallel.data "
                  "({} x {} = {})",
                  batch.global, batch.micro, data, at_once),
      fmt::format("{} or {}, for example", at_once, (batch.global / at_once + 1) * at_once));
}

void check_machines(const JsonReader& root, const Experiment& experiment,
                    std::vector<Problem>& problems) {
  const std::int64_t devices = experiment.parallel.devices();
  if (experiment.cluster && counts_nodes(root) && experiment.cluster->devices() != devices) {
    const Parallel& p = experiment.parallel;
    problems.push_back(
        {experiment.file + ":/parallel",
         fmt::format("tensor {} x context {} x data {} x pipeline {} are {} devices, {} nodes of "
                     "{} have {}",
                     p.tensor, p.context, p.data, p.pipeline, devices, experiment.cluster->nodes,
                     experiment.cluster->name, experiment.cluster->devices()),
         "all of them are used where 'nodes' is given"});
    return;
  }
  if (!experiment.estimates_costs) return check_degrees(experiment, problems);
  if (!root.has("model")) {
    root.problem("estimated costs need a 'model'", "as in \"model\": \"../models/gpt3-175b.json\"");
  }
  if (!root.has("cluster")) {
    root.problem("estimated costs need a 'cluster'",
                 "as in \"cluster\": \"../clusters/h100-dgx.json\"");
  }
  const bool is_complete = experiment.model && experiment.cluster && experiment.batch.sequence > 0;
  if (is_complete) check_estimated(experiment, problems);
}

}  // namespace penstock
