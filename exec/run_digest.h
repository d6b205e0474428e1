// File: run_digest.h. Hashes of a run: of the plan (do all processes run the same?) and of the
// parameters.
#pragma once

#include <span>
#include <string>

#include "device/device.h"
#include "penstock/execute.h"

namespace penstock {

// Of everything that makes processes run the same steps: program, sizes, optimizer, seed, data, the
// profile's length.
std::string plan_digest(const RunPlan& plan, const RunOptions& options);

// One line per tensor: name, shape, SHA-256 of its fp32 little-endian values.
std::string digest_lines(std::span<const ParameterView> tensors);

// Of the sorted lines of all actors, a tensor that several hold once; empty for no tensors. Throws
// RunError when two copies of a tensor differ.
std::string parameters_digest(std::span<const std::string> lines_of_actors);

}  // namespace penstock
