#include "members.h"
#include "order.h"

namespace penstock {

Schedule one_f_one_b(const GenerateOptions& options) {
  return one_stage_each("1f1b", options,
                        [&](std::int32_t actor) { return options.actors - 1 - actor; });
}

}  // namespace penstock
