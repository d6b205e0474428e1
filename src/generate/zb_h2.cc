#include "members.h"
#include "order.h"

namespace penstock {

// Twice the warm-up and twice the lag of zb_h1: the first input gradient comes back just when the
// forwards of the warm-up end.
Schedule zb_h2(const GenerateOptions& options) {
  return one_stage_each(
      "zb_h2", options, [&](std::int32_t actor) { return 2 * (options.actors - 1 - actor); },
      [](std::int32_t actor) { return 2 * actor; });
}

}  // namespace penstock
