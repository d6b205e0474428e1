// File: run_digest.h. Hashes of a run: of the plan (do all processes run the same?) and of the
// parameters.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "penstock/execute.h"

namespace penstock {

// Of everything that makes processes run the same steps: program, sizes, optimizer, seed, data.
std::string plan_digest(const RunPlan& plan);

// Of the name-sorted list of (name, shape, SHA-256 of the values), a tensor that several actors
// hold once; empty for no tensors. Throws RunError when two copies of a tensor differ.
std::string parameters_digest(std::vector<TensorDigest> tensors);

}  // namespace penstock
