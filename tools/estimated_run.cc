#include "estimated_run.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "penstock/index.h"

namespace penstock {
namespace {

constexpr FlopConvention kConvention = FlopConvention::ModelFull;
constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string_view convention_name() {
  return flop_conventions()[static_cast<std::size_t>(kConvention)].name;
}

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / kGiB);
}

std::size_t fullest_actor(const Metrics& metrics) {
  const auto fullest = std::max_element(
      metrics.actors.begin(), metrics.actors.end(),
      [](const ActorMetrics& a, const ActorMetrics& b) { return a.peak_bytes < b.peak_bytes; });
  return static_cast<std::size_t>(fullest - metrics.actors.begin());
}

// A change to the experiment that may make it fit; nothing to change: false.
struct Remedy {
  std::string_view name;
  std::function<bool(Experiment&)> apply;
};

const std::vector<Remedy>& remedies() {
  static const std::vector<Remedy> kRemedies = {
      {"parallel.sequence=true",
       [](Experiment& e) {
         const bool helps = e.parallel.tensor > 1 && !e.parallel.sequence;
         e.parallel.sequence |= helps;
         return helps;
       }},
      {"parallel.zero=1",
       [](Experiment& e) {
         const bool helps = e.parallel.zero == 0 && e.parallel.replicas() > 1;
         if (helps) e.parallel.zero = 1;
         return helps;
       }},
      {"recompute=selective",
       [](Experiment& e) {
         const bool helps = e.recompute == RecomputeChoice::None;
         if (helps) e.recompute = RecomputeChoice::Selective;
         return helps;
       }},
      {"batch.micro=1", [](Experiment& e) { return std::exchange(e.batch.micro, 1) > 1; }},
      {"recompute=full",
       [](Experiment& e) {
         return std::exchange(e.recompute, RecomputeChoice::Full) != RecomputeChoice::Full;
       }},
  };
  return kRemedies;
}

// The most that any actor holds; nothing for an experiment that is not allowed.
std::optional<std::int64_t> peak_of(Experiment experiment, const SimulateOptions& options) {
  try {
    const Prepared prepared = prepare(std::move(experiment));
    const Metrics metrics = measure(simulate(prepared.program, *given_costs(prepared), options));
    return metrics.actors[fullest_actor(metrics)].peak_bytes;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Single changes that make it fit, or else as many of them together as it takes.
std::string what_would_fit(const Experiment& experiment, const SimulateOptions& options) {
  const std::int64_t room = experiment.cluster->device.memory_bytes;
  std::string fits;
  const auto try_out = [&](const Experiment& changed, std::string_view what) {
    const std::optional<std::int64_t> peak = peak_of(changed, options);
    if (!peak || *peak > room) return false;
    fits += fmt::format("{}{} ({})", fits.empty() ? "would fit: " : ", ", what, gib(*peak));
    return true;
  };
  for (const Remedy& remedy : remedies()) {
    Experiment changed = experiment;
    if (remedy.apply(changed)) try_out(changed, remedy.name);
  }
  if (!fits.empty()) return fits;
  Experiment changed = experiment;
  std::string all;
  for (const Remedy& remedy : remedies()) {
    if (!remedy.apply(changed)) continue;
    all += (all.empty() ? "" : " and ") + std::string(remedy.name);
    if (try_out(changed, all)) return fits;
  }
  return "more devices: a higher parallel.tensor or parallel.pipeline";
}

std::vector<Problem> misfits(const Prepared& prepared, const Metrics& metrics,
                             const SimulateOptions& options) {
  const DeviceType& device = prepared.experiment.cluster->device;
  const std::size_t actor = fullest_actor(metrics);
  const std::int64_t peak = metrics.actors[actor].peak_bytes;
  if (peak <= device.memory_bytes) return {};
  return {{fmt::format("{}: actor {}", prepared.experiment.file, actor),
           fmt::format("each device needs {}, {} has {}: {} too much", gib(peak), device.name,
                       gib(device.memory_bytes), gib(peak - device.memory_bytes)),
           what_would_fit(prepared.experiment, options)}};
}

}  // namespace

EstimatedRun estimated_run(const Prepared& prepared, const Estimate& estimate,
                           const Metrics& metrics, const SimulateOptions& options) {
  const Experiment& experiment = prepared.experiment;
  const DeviceType& device = experiment.cluster->device;
  const auto arithmetic = static_cast<std::size_t>(matrix_arithmetic(experiment.precision));
  EstimatedRun run = {
      .devices = experiment.parallel.devices(),
      .model_flops = static_cast<double>(sequences_per_run(prepared)) *
                     model_flops(*experiment.model, experiment.batch.sequence, kConvention),
      .peak_flop_per_s = device.flop_per_s[arithmetic],
      .memory_bytes = device.memory_bytes,
      .actors = std::vector<CostParts>(metrics.actors.size()),
      .misfits = misfits(prepared, metrics, options)};
  const std::vector<Stage>& stages = prepared.program.schedule.pipeline.stages;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const OpKind kind : {OpKind::Forward, OpKind::Recompute, OpKind::Backward}) {
      if (!estimate.costs.stages[stage].op[index(kind)]) continue;
      run.actors[index(stages[stage].actor)] += estimate.stages[stage][index(kind)];
    }
  }
  return run;
}

double flop_per_s(const EstimatedRun& run, const Metrics& metrics) {
  return run.model_flops / to_s(metrics.makespan) / static_cast<double>(run.devices);
}

double mfu(const EstimatedRun& run, const Metrics& metrics) {
  return flop_per_s(run, metrics) / run.peak_flop_per_s;
}

std::string estimate_text(const EstimatedRun& run, const Metrics& metrics) {
  CostParts sum;
  for (const CostParts& actor : run.actors) sum += actor;
  std::string text =
      fmt::format("{} devices   {:.1f} TFLOP/s each ({})   at most {} of {}\n", run.devices,
                  1e-12 * flop_per_s(run, metrics), convention_name(),
                  gib(metrics.actors[fullest_actor(metrics)].peak_bytes), gib(run.memory_bytes));
  text += "time in ops:";
  for (int i = 0; i < kCostParts; ++i) {
    const auto part = static_cast<CostPart>(i);
    if (sum[part] == 0) continue;
    text += fmt::format(" {} {:.1f} %{}", name(part), 100 * sum[part] / sum.total(),
                        i + 1 < kCostParts ? "," : "");
  }
  if (text.back() == ',') text.pop_back();
  return text + "\n";
}

void add_estimate(const EstimatedRun& run, const Metrics& metrics, nlohmann::ordered_json& report) {
  report["devices"] = run.devices;
  report["tflops_per_device"] = 1e-12 * flop_per_s(run, metrics);
  report["flops_convention"] = convention_name();
  report["fits"] = run.misfits.empty();
  for (std::size_t actor = 0; actor < run.actors.size(); ++actor) {
    nlohmann::ordered_json parts = nlohmann::ordered_json::object();
    for (int i = 0; i < kCostParts; ++i) {
      const auto part = static_cast<CostPart>(i);
      parts[std::string(name(part)) + "_s"] = 1e-9 * run.actors[actor][part];
    }
    report["actors"][actor]["microbatch"] = std::move(parts);
  }
  for (const Problem& problem : run.misfits) {
    report["problems"].push_back(
        {{"where", problem.where}, {"what", problem.what}, {"hint", problem.hint}});
  }
}

}  // namespace penstock
