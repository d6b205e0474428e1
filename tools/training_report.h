// File: training_report.h. What a training run leaves behind: its numbers, prediction beside
// measurement, and the files of --out.
#pragma once

#include <string>

#include "penstock/costs.h"
#include "penstock/execute.h"
#include "predict.h"

namespace penstock {

enum class PredictionSource : std::uint8_t { Profile, File };

// Everything a report of one run says, computed once.
struct TrainingReport {
  const Prepared* prepared = nullptr;
  RunResult result;
  PredictionSource source = PredictionSource::Profile;
  Timeline predicted;
  double step_s = 0;  // median over steps from the 4th on
  double predicted_s = 0;
  double replay_s = 0;         // the measured step's own op durations, simulated
  double replayed_step_s = 0;  // the makespan of that measured step
  double error_percent() const { return 100 * (predicted_s - step_s) / step_s; }
  double replay_error_percent() const {
    return 100 * (replay_s - replayed_step_s) / replayed_step_s;
  }
};

// `costs` made the prediction. REQUIRES: result is the root's and has at least one step.
TrainingReport make_training_report(const Prepared& prepared, RunResult result,
                                    const CostTable& costs, PredictionSource source);

// The lines printed after a run.
std::string to_text(const TrainingReport& report);

// summary.json, measured.trace.json, predicted.trace.json and report.html (metrics.jsonl is written
// while training). REQUIRES: the folder exists.
void write_training_report(const TrainingReport& report, const std::string& folder);

}  // namespace penstock
