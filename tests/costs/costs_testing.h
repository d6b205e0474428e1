// File: costs_testing.h. The clusters that the tests ask.
#pragma once

#include <string>

#include "penstock/cluster.h"
#include "penstock/files.h"

namespace penstock {

// A file of configs/clusters.
inline std::string shipped_text(const std::string& name) {
  return read_file(CONFIGS "/clusters/" + name + ".json");
}
inline Cluster shipped(const std::string& name) {
  return read_cluster(shipped_text(name), name + ".json");
}

// Round numbers: links of 100 GB/s to a switch, NICs of 10 GB/s, all of each achieved.
inline Cluster round_cluster(std::int32_t nodes = 4, std::int32_t devices = 4,
                             std::int32_t nics = 4) {
  const auto link = [](double gb_per_s, Nanoseconds latency, Nanoseconds step) {
    const Curve all = {{{.size = 1, .fraction = 1}}};
    return Link{.bytes_per_s = gb_per_s * 1e9,
                .latency = latency,
                .message = {.achieved = all},
                .collective = {.step = step, .achieved = all}};
  };
  Cluster cluster;
  cluster.name = "round";
  cluster.node = {.devices = devices,
                  .wiring = Wiring::Switch,
                  .device_link = link(100, 1000, 1000),
                  .host = link(50, 500, 2000)};
  cluster.nic = link(10, 2000, 5000);
  for (std::int32_t i = 0; i < nics; ++i) {
    cluster.nics.push_back({.nics = 1});
    for (std::int32_t d = i * devices / nics; d < (i + 1) * devices / nics; ++d) {
      cluster.nics.back().devices.push_back(d);
    }
  }
  cluster.fabric = {.nodes_per_leaf = nodes, .spine_latency = 700};
  cluster.nodes = nodes;
  return cluster;
}

}  // namespace penstock
