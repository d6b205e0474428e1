// File: curve_file.h. Reads the curves of a cluster file.
#pragma once

#include <string_view>

#include "json_reader.h"
#include "penstock/cluster.h"

namespace penstock {

// The array [[size, fraction], ...] at `key`, sizes in `unit` (FLOP or bytes). Empty after a report
// when the file's is missing or wrong.
Curve read_curve(const JsonReader& object, std::string_view key, double unit);

// That `object` says where its figures come from.
void require_source(const JsonReader& object);

}  // namespace penstock
