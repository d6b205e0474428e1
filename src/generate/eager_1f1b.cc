#include "members.h"
#include "order.h"

namespace penstock {

Schedule eager_1f1b(const GenerateOptions& options) {
  return one_stage_each("eager_1f1b", options,
                        [&](std::int32_t actor) { return 2 * (options.actors - 1 - actor); });
}

}  // namespace penstock
