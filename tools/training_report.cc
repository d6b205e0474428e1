#include "training_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_output.h"
#include "penstock/files.h"
#include "penstock/metrics.h"
#include "penstock/replay.h"
#include "penstock/report.h"
#include "penstock/simulate.h"
#include "penstock/trace.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::string_view name(PredictionSource source) {
  return source == PredictionSource::Profile ? "profile" : "file";
}

bool has_losses(const TrainingReport& report) {
  return report.prepared->experiment.learns();
}

bool is_inference(const TrainingReport& report) {
  const LearningKind kind = report.prepared->program.schedule.pipeline.learning.kind;
  return kind == LearningKind::ForwardOnly;
}

double mean_loss(const TrainingReport& report) {
  double sum = 0;
  for (const StepRecord& step : report.result.steps) sum += step.loss;
  return sum / static_cast<double>(report.result.steps.size());
}

// Every step of inference has other text and the same weights: its losses are no course.
std::string loss_line(const TrainingReport& report) {
  const auto& steps = report.result.steps;
  if (is_inference(report)) {
    return fmt::format("inference  mean loss {:.4f} over {} steps\n", mean_loss(report),
                       steps.size());
  }
  return fmt::format("loss       {:.4f} -> {:.4f} over {} steps\n", steps.front().loss,
                     steps.back().loss, steps.size());
}

Json summary(const TrainingReport& report) {
  const RunResult& result = report.result;
  const Metrics metrics = measure(result.measured);
  Json json;
  json["name"] = report.prepared->experiment.name;
  json["schedule"] = report.prepared->program.schedule.name;
  json["actors"] = Json::array();
  for (std::size_t actor = 0; actor < result.traffic.size(); ++actor) {
    json["actors"].push_back({{"actor", actor},
                              {"bytes_sent", result.traffic[actor].bytes_sent},
                              {"messages_sent", result.traffic[actor].messages_sent},
                              {"bytes_resent", result.traffic[actor].bytes_resent},
                              {"messages_resent", result.traffic[actor].messages_resent},
                              {"utilization", metrics.actors[actor].utilization}});
  }
  json["steps"] = result.steps.size();
  json["losses"] = Json::array();
  json["gradient_norms"] = Json::array();
  for (const StepRecord& step : result.steps) {
    json["losses"].push_back(number_or_null(step.loss));
    json["gradient_norms"].push_back(number_or_null(step.gradient_norm));
  }
  for (const StepRecord& step : result.steps) {  // with local learning alone
    if (!step.window_losses.empty()) json["window_losses"].push_back(step.window_losses);
  }
  json["parameters_sha256"] =
      result.parameters_sha256.empty() ? Json(nullptr) : Json(result.parameters_sha256);
  json["step_s"] = report.step_s;
  json["predicted_s"] = report.predicted_s;
  json["error_percent"] = report.error_percent();
  json["prediction_source"] = name(report.source);
  json["replay_s"] = report.replay_s;
  json["replay_error_percent"] = report.replay_error_percent();
  json["bubble_ratio"] = metrics.bubble_ratio;
  json["bubble_ratio_predicted"] = measure(report.predicted).bubble_ratio;
  json["tokens_per_s"] = result.measured.tokens > 0
                             ? Json(static_cast<double>(result.measured.tokens) / report.step_s)
                             : Json(nullptr);
  return json;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", 1e3 * seconds);
}

HtmlReport html_report(const TrainingReport& report) {
  HtmlReport html;
  html.title = report.prepared->experiment.name;
  html.timelines = {report.result.measured, report.predicted};
  if (has_losses(report) && !is_inference(report)) {
    for (const StepRecord& step : report.result.steps) html.losses.push_back(step.loss);
  }
  html.facts = {
      {"schedule", report.prepared->program.schedule.name},
      {"actors", std::to_string(report.predicted.actors)},
      {"microbatches", std::to_string(report.predicted.microbatches)},
      {"measured step (median)", milliseconds(report.step_s)},
      {"predicted step",
       fmt::format("{} ({:+.1f} %)", milliseconds(report.predicted_s), report.error_percent())},
      {"replayed step",
       fmt::format("{} ({:+.2f} %)", milliseconds(report.replay_s), report.replay_error_percent())},
  };
  if (is_inference(report)) {
    html.facts.emplace_back("inference, mean loss", fmt::format("{:.4f}", mean_loss(report)));
  }
  return html;
}

}  // namespace

TrainingReport make_training_report(const Prepared& prepared, RunResult result,
                                    const CostTable& costs, PredictionSource source) {
  TrainingReport report;
  report.prepared = &prepared;
  report.result = std::move(result);
  report.source = source;
  report.predicted = simulate(prepared.program, costs);
  report.predicted.tokens = report.result.measured.tokens = tokens_per_run(prepared);
  report.step_s = report.result.steps[report.result.median_step].seconds;
  report.predicted_s = to_s(measure(report.predicted).makespan);
  const Timeline replay = simulate(prepared.program, replay_costs(report.result.measured, costs));
  report.replay_s = to_s(measure(replay).makespan);
  report.replayed_step_s = to_s(measure(report.result.measured).makespan);
  return report;
}

std::string to_text(const TrainingReport& report) {
  std::string text;
  if (has_losses(report)) text += loss_line(report);
  text += fmt::format("measured   {:>12}  per step (median)\n", milliseconds(report.step_s));
  text += fmt::format("predicted  {:>12}  {:+.1f} %, from {}\n", milliseconds(report.predicted_s),
                      report.error_percent(),
                      report.source == PredictionSource::Profile ? "a profile taken before the run"
                                                                 : "the given costs");
  text += fmt::format("replayed   {:>12}  {:+.2f} %, the measured ops' own durations simulated\n",
                      milliseconds(report.replay_s), report.replay_error_percent());
  text += fmt::format("bubble     {:>11.1f} %  measured, {:.1f} % predicted\n",
                      100 * measure(report.result.measured).bubble_ratio,
                      100 * measure(report.predicted).bubble_ratio);
  if (!report.result.parameters_sha256.empty() && !is_inference(report)) {
    text += fmt::format("parameters sha256 {}\n", report.result.parameters_sha256);
  }
  return text;
}

void write_training_report(const TrainingReport& report, const std::string& folder) {
  write_json(folder + "/summary.json", summary(report));
  write_file(folder + "/measured.trace.json", write_trace(report.result.measured));
  write_file(folder + "/predicted.trace.json", write_trace(report.predicted));
  write_file(folder + "/report.html", report_html(html_report(report)));
}

}  // namespace penstock
