// File: link_file.h. Reads one kind of link of a cluster file.
#pragma once

#include "json_reader.h"
#include "penstock/cluster.h"

namespace penstock {

// What every link has: gb_per_s, latency_us, source, message, collective; tree and in_switch where
// they are given. Unknown keys are the caller's: the object holds more than the link.
Link read_link(const JsonReader& object);

}  // namespace penstock
