// File: critical_json.h. The critical path as the list that `simulate --json` prints.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "penstock/timeline.h"

namespace penstock {

// Earliest first, a link each:
//   {"op": "3F5", "actor": 3, "start_s": 0.0123, "end_s": 0.0133}
//   {"transfer": "activation 3F5", "actor": 3, "to": 4, "start_s": 0.0133, "end_s": 0.0134}
// Times are the stretch of the step that the link accounts for: a simulated step has no gaps
// between them. Paths of more than 10,000 links (one actor, many microbatches) are shortened
// without a gap: links that follow each other on one actor become one, "op" the first, "last" the
// last, "links" how many.
nlohmann::ordered_json critical_path_json(const Timeline& timeline);

}  // namespace penstock
