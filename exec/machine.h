// File: machine.h. What the times of a profile were measured on.
#pragma once

#include <string>
#include <vector>

#include "penstock/execute.h"

namespace penstock {

// The "machine" object of a costs file: device, processor, BLAS with its core type.
std::string machine_json(const RunPlan& plan);

// "OpenBLAS 0.3.21 Haswell": one line each.
std::vector<std::string> library_versions();

}  // namespace penstock
