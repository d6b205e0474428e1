// File: execute.h. Does: the same Program that is simulated, run as real training.
//
// Implemented by the shared module `libpenstock-exec.so`, which alone links MPI and BLAS: a program
// that only simulates never pays for them. load_executor() opens it at run time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/costs.h"
#include "penstock/experiment.h"
#include "penstock/program.h"
#include "penstock/split.h"
#include "penstock/timeline.h"

namespace penstock {

// What to run. Every process of a run passes the same plan; the executor compares a hash of it
// before the first step and refuses to start when two differ.
struct RunPlan {
  Program program;             // with step_end
  std::optional<Model> model;  // absent: the sleep device
  Split split;                 // of the model; unused by sleep
  Batch batch;                 // global: sequences of one step
  TrainSettings train;
  // What the forward of a unit with an R keeps. Without any R nothing is made again.
  RecomputeChoice recompute = RecomputeChoice::Full;
  CostTable costs;  // durations of the sleep device; unused otherwise
};

// One step is one run of the program. An asynchronous schedule unrolls several updates: a step is
// all of them together, and its pipeline drains at the end. The learning rate is the same for all
// updates of a step, and each takes the mean gradient over the tokens of its own microbatches.
struct StepRecord {
  std::int32_t step = 0;  // from 1
  double loss = 0;        // token-weighted mean before the update; NaN for sleep
  // With local learning: the same of every window's loss, in order; the last is `loss`.
  std::vector<double> window_losses = {};
  double gradient_norm = 0;  // NaN when nobody knows it: stages that update without the others
                             // (updates inside the order, local learning), and inference
  double learning_rate = 0;
  double seconds = 0;
  // Post-validation: an update that some actor had made before the whole norm was known was wrong.
  bool rolled_back = false;
};

// Activations and gradients that an actor sent in the whole run.
struct Traffic {
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  // Beside those: once more, after rolling back.
  std::int64_t bytes_resent = 0;
  std::int64_t messages_resent = 0;
};

struct RunResult {
  bool root = true;  // false on all processes but one: the rest is empty there
  std::vector<StepRecord> steps;
  std::string parameters_sha256;  // decisions: names, shapes and values; empty for sleep
  // Of `steps`, one whose time is the median: of the last 100, less the first 3, while caches and
  // page tables fill; the shorter of two in the middle.
  std::size_t median_step = 0;
  Timeline measured;             // that step
  std::vector<Traffic> traffic;  // by actor
  CostTable profile;             // what a profiling run measured (profile_steps > 0)
};

struct RunOptions {
  // Steps whose op durations are averaged into RunResult::profile, run before the training steps
  // without learning anything. 0: no profile.
  std::int32_t profile_steps = 0;
  // Called on the root after every step; for progress and metrics.jsonl.
  std::function<void(const StepRecord&)> on_step;
};

class Executor {
 public:
  virtual ~Executor() = default;
  // This process's rank and the number of processes that mpirun started (0 of 1 without it).
  virtual int rank() const = 0;
  // How many of them run on this process's host.
  virtual int processes_here() const = 0;
  // Collective: runs plan.program with one actor per process. Throws on every process alike, and
  // only the one that speaks() should print: Error when the input is at fault (processes are not
  // as many as actors: the hint is the mpirun command to use; too little data), RunError when the
  // run fails (a NaN loss, a failing or missing peer, two processes with different plans). When a
  // process dies, mpirun ends the others, and one of them prints what every actor was doing.
  // PENSTOCK_TRANSPORT chooses "window" (shared memory, the default on one host) or "mpi"; after
  // PENSTOCK_WATCHDOG_S seconds (60) without any progress the run fails.
  virtual RunResult run(const RunPlan& plan, const RunOptions& options) = 0;
  // True on the process that should print (rank 0).
  bool speaks() const { return rank() == 0; }
  // "Open MPI 4.1.4", "OpenBLAS 0.3.21 Haswell": one line each for `penstock version`.
  virtual std::vector<std::string> versions() const = 0;
};

// Opens the module beside the running program (or in `PENSTOCK_EXEC_MODULE`) and starts MPI when
// mpirun launched this process. Throws RunError with a hint when the module is not there.
Executor& load_executor();
bool executor_is_loaded();

}  // namespace penstock
