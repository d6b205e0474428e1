// File: experiment.h. The experiment file: one JSON that both `simulate` and `train` take.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cluster.h"
#include "penstock/costs.h"
#include "penstock/estimate.h"
#include "penstock/model.h"
#include "penstock/parallel.h"
#include "penstock/recompute.h"
#include "penstock/schedule.h"
#include "penstock/split.h"
#include "penstock/synchronization.h"

namespace penstock {

struct Batch {
  std::int32_t global = 1;    // sequences per step
  std::int32_t micro = 1;     // sequences per microbatch
  std::int32_t sequence = 0;  // tokens per sequence
};

struct ScheduleChoice {
  std::string name;                           // a generator's, or empty
  std::string file;                           // or a schedule file
  std::map<std::string, std::string> option;  // the generator's
  std::int32_t slices = 1;
  std::string layout;  // Megatron layout string; empty: even_split
};

struct Optimizer {
  std::string name = "adamw";
  double lr = 3e-4;
  double min_lr = 0;  // where the cosine ends
  std::int32_t warmup_steps = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // on matrices only
  double clip = 1.0;          // global gradient norm; 0: no clipping
  Synchronization synchronization = Synchronization::Flush;
};

enum class DeviceKind : std::uint8_t { Auto, Cpu, Sleep };

struct TrainSettings {
  std::string data;              // empty: the licence texts of this machine
  std::int32_t token_bytes = 0;  // of a headerless token file (nanoGPT: 2); 0: by content
  std::int32_t steps = 50;
  Optimizer optimizer;
  std::uint64_t seed = 1;
  DeviceKind device = DeviceKind::Auto;
};

struct Experiment {
  std::string file;  // where it was read, for messages
  std::string name;
  std::string model_file;          // empty: no model (costs must be given)
  std::optional<Model> model;      // read from model_file
  std::string cluster_file;        // empty: none
  std::optional<Cluster> cluster;  // read from cluster_file, with as many nodes as are asked for
  Parallel parallel;
  std::string order = Placement().order;  // of ranks on the cluster
  Precision precision = Precision::Fp32;
  std::optional<Precision> gradients;  // as summed up; absent: as usual_state() has them
  Batch batch;
  ScheduleChoice schedule;
  RecomputeChoice recompute = RecomputeChoice::None;
  // What "costs" says: nothing, "uniform" (a table of one stage), a table ("stages" or "file").
  // costs() gives it for a schedule.
  std::optional<CostTable> uniform_costs;
  std::optional<CostTable> cost_table;
  bool estimates_costs = false;  // from model and cluster, which are there
  TrainSettings train;

  // Of a step, on each replica.
  std::int32_t microbatches() const { return batch.global / batch.micro / parallel.data; }
  // The costs of a schedule of `stages` stages, 1 or more; nullopt when none are given. A table is
  // what the file says, whatever its length: missing_costs(). Estimated ones: estimate_costs().
  std::optional<CostTable> costs(std::int32_t stages) const;
  // False: the sleep device, so there is no loss, no norm and no parameter.
  bool learns() const { return model && train.device != DeviceKind::Sleep; }
};

// True when `content` is JSON with the "penstock" key, false when it is a schedule in any format.
// Throws Error for JSON that is broken, or neither of the two.
bool is_experiment(std::string_view content, const std::string& where);

// Reads the file and the files it names: what is not absolute is relative to the experiment's file,
// and stands in Experiment as a path that opens from the working directory. `set` holds the command
// line's key=value overrides, "parallel.pipeline=4"; values are JSON, or else strings. Throws Error
// with every problem: unknown keys come with the nearest known key as a hint, sizes that do not
// divide with both numbers. What the file format has and this version does not do yet (baselines)
// is refused by name.
Experiment read_experiment(const std::string& path, const std::vector<std::string>& set = {});

// The same from `content`; `path` says where it stands, for the files that it names and messages.
Experiment parse_experiment(std::string_view content, const std::string& path,
                            const std::vector<std::string>& set = {});

// The experiment's schedule: generated, or read from its file and checked against the sizes; with
// recompute, if the experiment asks for it.
// Throws Error with every problem that check() finds.
Schedule make_schedule(const Experiment& experiment);

// The experiment's split over as many parts as the schedule has. REQUIRES: experiment.model. Throws
// Error when the layout has another number of stages, or is none.
Split make_split(const Experiment& experiment, const Schedule& schedule);

// What estimate() takes of the experiment, which must outlive it. REQUIRES:
// experiment.estimates_costs.
EstimateInput estimate_input(const Experiment& experiment);

// The costs of its schedule and split by estimate(). Throws Error with all that check_estimate()
// finds. REQUIRES: experiment.estimates_costs.
Estimate estimate_costs(const Experiment& experiment, const Schedule& schedule, const Split& split);

// Why the experiment cannot be executed, though it can be simulated: everything by name.
std::vector<Problem> check_executable(const Experiment& experiment);

}  // namespace penstock
