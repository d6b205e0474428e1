// File: estimated_run.h. What is said of a run with estimated costs, beside its timeline: how much
// of the machines it uses, where the time of its ops goes, whether it fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "penstock/estimate.h"
#include "penstock/metrics.h"
#include "predict.h"

namespace penstock {

struct EstimatedRun {
  std::int64_t devices = 0;
  double model_flops = 0;         // of all devices in one run of the schedule, model_full (flops.h)
  double peak_flop_per_s = 0;     // of one
  std::int64_t memory_bytes = 0;  // of one
  std::vector<CostParts> actors;  // of one microbatch: F, R, B (or I and W) of all their stages
  std::vector<Problem> misfits;   // why it does not fit the devices' memory
};

// `metrics` are those of the run's timeline, simulated with `estimate` and `options`. What would
// fit is found by simulating changed experiments.
EstimatedRun estimated_run(const Prepared& prepared, const Estimate& estimate,
                           const Metrics& metrics, const SimulateOptions& options);

double flop_per_s(const EstimatedRun& run, const Metrics& metrics);  // per device
double mfu(const EstimatedRun& run, const Metrics& metrics);

// Lines for people, and members for report_json().
std::string estimate_text(const EstimatedRun& run, const Metrics& metrics);
void add_estimate(const EstimatedRun& run, const Metrics& metrics, nlohmann::ordered_json& report);

}  // namespace penstock
