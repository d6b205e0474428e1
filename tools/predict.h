// File: predict.h. From what the command line names to what can be simulated and run: the steps
// that simulate, train and profile share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "penstock/costs.h"
#include "penstock/experiment.h"
#include "penstock/program.h"
#include "penstock/simulate.h"
#include "penstock/split.h"
#include "penstock/timeline.h"

namespace penstock {

// The experiment as the executor and the simulator take it.
struct Prepared {
  Experiment experiment;
  Program program;
  Split split;  // empty without a model
};

// Generates, checks, splits and lowers. Stages that share the tied embedding form a group
// of Program::shared. Throws Error with every problem.
Prepared prepare(Experiment experiment, MessagePlacement placement = MessagePlacement::Linear);

// What the experiment's "costs" gives for its schedule, estimated where it asks for that; nullopt
// when it gives none. Throws Error with what is missing.
std::optional<CostTable> given_costs(const Prepared& prepared);

// Reads an experiment that is to be executed. Throws Error with all that this version cannot.
Experiment read_executable(const std::string& path, const std::vector<std::string>& set);

// Sequences and tokens of one run of the schedule, which may unroll several steps of the
// experiment; 0 tokens without a sequence length.
std::int64_t sequences_per_run(const Prepared& prepared);
std::int64_t tokens_per_run(const Prepared& prepared);

}  // namespace penstock
