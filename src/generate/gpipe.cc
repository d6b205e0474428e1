#include "members.h"
#include "order.h"

namespace penstock {

Schedule gpipe(const GenerateOptions& options) {
  return one_stage_each("gpipe", options, [&](std::int32_t) { return options.microbatches; });
}

}  // namespace penstock
