// File: costs_links.h. The links that a cost table shares: in files, and beside a schedule.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "json_reader.h"
#include "penstock/costs.h"

namespace penstock {

// "links" of the costs format:
//   [{"name": "NIC of node 0, out", "bytes_per_s": 5e10, "channels": [[0, 2], [1, 3]]}]
std::vector<SharedLink> read_links(const JsonReader& costs);
nlohmann::ordered_json written(const std::vector<SharedLink>& links);

// Links between actors that the schedule has not.
std::vector<Problem> link_misfits(const std::vector<SharedLink>& links, std::int32_t actors);

}  // namespace penstock
