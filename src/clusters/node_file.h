// File: node_file.h. Reads the "node" and the "nics" of a cluster file.
#pragma once

#include "json_reader.h"
#include "penstock/cluster.h"

namespace penstock {

Node read_node(const JsonReader& object);

// Into cluster.nic and cluster.nics. REQUIRES: cluster.node was read.
void read_nics(const JsonReader& object, Cluster& cluster);

}  // namespace penstock
