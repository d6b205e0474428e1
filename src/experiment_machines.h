// File: experiment_machines.h. The parts of an experiment file that say on which machines, and how
// spread over them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json_reader.h"
#include "penstock/experiment.h"

namespace penstock {

// "../models/x.json" beside the experiment file.
std::string beside(const std::string& file, const std::string& path);

// The file that the member `key` names, beside the experiment; empty, and reported, when it names
// none. REQUIRES: object.has(key).
std::string file_named(const JsonReader& object, std::string_view key, const std::string& file);

// The problems of a file that this one names belong to that file.
template <typename Read>
auto collect(std::vector<Problem>& problems, Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error& error) {
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    return {};
  }
}

// Each reads one object, or key of the root, and reports what is wrong with it.
void read_parallel(const JsonReader& parallel, Experiment& experiment);
Precision read_precision(const JsonReader& root, std::string_view key);
void read_cluster_choice(const JsonReader& root, Experiment& experiment,
                         std::vector<Problem>& problems);
bool read_cost_source(const JsonReader& costs);

// What the objects ask of one another: sequences for every replica; a model, a cluster and degrees
// that fit both where costs are estimated.
void check_replicas(const JsonReader& root, const Experiment& experiment);
void check_machines(const JsonReader& root, const Experiment& experiment,
                    std::vector<Problem>& problems);

}  // namespace penstock
