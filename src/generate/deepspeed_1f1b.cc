#include <vector>

#include "members.h"
#include "order.h"

namespace penstock {

// DeepSpeed numbers steps: on actor s, forward i is step 2i + s and backward i step 2(i + p) - 1 -
// s. The two never share a step; what is out of range is skipped.
Schedule deepspeed_1f1b(const GenerateOptions& options) {
  return one_stage_per_actor(
      "deepspeed_1f1b", options, OpKind::Backward,
      [&](std::int32_t actor, auto forward, auto backward) {
        const std::int32_t count = options.microbatches;
        const std::int64_t first_backward = 2 * std::int64_t{options.actors} - 1 - actor;
        std::vector<Step> order;
        order.reserve(2 * static_cast<std::size_t>(count));
        for (std::int32_t f = 0, b = 0; b < count;) {
          const bool is_forward = f < count && 2 * std::int64_t{f} + actor < first_backward + 2 * b;
          order.push_back({is_forward ? forward(f++) : backward(b++)});
        }
        return order;
      });
}

}  // namespace penstock
