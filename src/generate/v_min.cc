#include "building_block.h"
#include "members.h"

namespace penstock {

// All four passes follow each other without a gap: no microbatch can live shorter. A multiple of
// three actors needs two more slots before the backward, or ops would collide.
Schedule v_min(const GenerateOptions& options) {
  const std::int32_t p = options.actors;
  const std::int32_t turn = p % 3 == 0 ? 2 : 0;
  Block block;
  for (std::int32_t r = 0; r < p; ++r) {
    block.push_back({r, 2 * p - r - 1, 2 * p + turn + r, 4 * p + turn - r - 1});
  }
  return repeat_block("v_min", options, block);
}

}  // namespace penstock
