// File: numbers_json.h. What `simulate --json` says of a timeline, but for the critical path.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "penstock/metrics.h"

namespace penstock {

nlohmann::ordered_json numbers_json(const Timeline& timeline, const Metrics& metrics);

}  // namespace penstock
