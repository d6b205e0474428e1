#include "building_block.h"
#include "members.h"

namespace penstock {

// The way down takes two slots per actor, so that it meets the way up half as often as in v_min. An
// even number of actors needs three more slots before the backward, or ops would collide.
Schedule v_half(const GenerateOptions& options) {
  const std::int32_t p = options.actors;
  const std::int32_t turn = p % 2 == 0 ? 3 : 0;
  Block block;
  for (std::int32_t r = 0; r < p; ++r) {
    block.push_back({2 * r, 3 * p - r - 2, 3 * p + turn + 2 * r - 1, 6 * p + turn - r - 2});
  }
  return repeat_block("v_half", options, block);
}

}  // namespace penstock
