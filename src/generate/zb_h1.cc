#include "members.h"
#include "order.h"

namespace penstock {

// 1f1b whose weight gradients wait: actor r runs r input gradients before the first one, so that
// every actor holds as much as the first.
Schedule zb_h1(const GenerateOptions& options) {
  return one_stage_each(
      "zb_h1", options, [&](std::int32_t actor) { return options.actors - 1 - actor; },
      [](std::int32_t actor) { return actor; });
}

}  // namespace penstock
