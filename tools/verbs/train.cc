#include <cmath>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.h"
#include "penstock/error.h"
#include "penstock/execute.h"
#include "penstock/files.h"
#include "run_plan.h"
#include "training_report.h"
#include "verbs.h"

namespace penstock {
namespace {

constexpr std::int32_t kProfileSteps = 5;

// metrics.jsonl, a line per step, flushed so that a run can be followed.
class MetricsFile {
 public:
  explicit MetricsFile(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) throw RunError(path, "cannot be written");
  }
  ~MetricsFile() { std::fclose(file_); }
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void add(const StepRecord& record, std::int64_t tokens) {
    nlohmann::ordered_json line;
    line["step"] = record.step;
    line["loss"] = finite(record.loss);
    if (!record.window_losses.empty()) line["window_losses"] = record.window_losses;
    line["gradient_norm"] = finite(record.gradient_norm);
    line["learning_rate"] = record.learning_rate;
    line["step_s"] = record.seconds;
    line["tokens_per_s"] = finite(tokens > 0 ? static_cast<double>(tokens) / record.seconds : NAN);
    const std::string text = line.dump() + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) {
      throw RunError(path_, "cannot be written");
    }
  }

 private:
  static nlohmann::ordered_json finite(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  }

  std::string path_;
  std::FILE* file_;
};

void show_step(const StepRecord& record, const Prepared& prepared) {
  const Experiment& experiment = prepared.experiment;
  std::string line = fmt::format("step {:>4}/{}", record.step, experiment.train.steps);
  if (experiment.learns()) {
    const auto tokens = static_cast<double>(tokens_per_run(prepared));
    line += fmt::format(" | loss {:.4f}", record.loss);
    if (!std::isnan(record.gradient_norm)) {
      line += fmt::format(" | norm {:.4f}", record.gradient_norm);
    }
    const Pipeline& pipeline = prepared.program.schedule.pipeline;
    const bool learns = pipeline.learning.kind != LearningKind::ForwardOnly;
    if (learns) line += fmt::format(" | lr {:.2e}", record.learning_rate);
    line +=
        fmt::format(" | {:.1f} ms | {:.0f} tok/s", 1e3 * record.seconds, tokens / record.seconds);
  } else {
    line += fmt::format(" | {:.3f} ms", 1e3 * record.seconds);
  }
  progress(line);
}

// The given costs, with the profile's messages where they say nothing of messages: what a hop takes
// is this machine's, whoever made up the ops.
CostTable with_measured_messages(CostTable given, const CostTable& profile) {
  for (std::size_t stage = 0; stage < given.stages.size(); ++stage) {
    MessageCost& message = given.stages[stage].message;
    if (message == MessageCost{}) message = profile.stages[stage].message;
  }
  return given;
}

}  // namespace

int run_train(const Arguments& arguments) {
  const Prepared prepared =
      prepare(read_executable(arguments.positional()[0], arguments.list("set")));
  const auto costs = given_costs(prepared);
  const RunPlan plan = make_run_plan(prepared, costs);
  // Before MPI starts, so that all stop when it cannot be written.
  const std::string folder = arguments.text_or("out", "");
  if (arguments.has("out") && folder.empty()) throw UsageError("--out needs a folder");
  if (!folder.empty()) ensure_writable_folder(folder);
  std::optional<MetricsFile> metrics;
  if (!folder.empty() && launched_rank() == 0) metrics.emplace(folder + "/metrics.jsonl");
  Executor& executor = load_executor();
  const std::string note = shared_cores_note(executor, plan);
  if (!note.empty()) complain(note);
  RunResult result =
      executor.run(plan, {.profile_steps = kProfileSteps, .on_step = [&](const StepRecord& record) {
                            show_step(record, prepared);
                            if (metrics) metrics->add(record, tokens_per_run(prepared));
                          }});
  if (!result.root) return 0;

  const CostTable prediction =
      costs ? with_measured_messages(*costs, result.profile) : result.profile;
  const TrainingReport report =
      make_training_report(prepared, std::move(result), prediction,
                           costs ? PredictionSource::File : PredictionSource::Profile);
  say(to_text(report));
  if (!note.empty()) say(fmt::format("note       {}\n", note));
  if (!folder.empty()) {
    write_training_report(report, folder);
    say(fmt::format("wrote {}/summary.json, report.html and traces\n", folder));
  }
  return 0;
}

}  // namespace penstock
