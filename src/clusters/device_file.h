// File: device_file.h. Reads the "device" of a cluster file.
#pragma once

#include "json_reader.h"
#include "penstock/cluster.h"

namespace penstock {

DeviceType read_device(const JsonReader& object);

}  // namespace penstock
