// File: building_block.h. A V schedule from one microbatch's pattern, repeated.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/generate.h"

namespace penstock {

// block[actor]: in which slot the first microbatch runs its forward down (chunk 0), its forward up
// (chunk 1), its input gradient down (chunk 1) and its input gradient up (chunk 0). A slot is the
// time of one op; each later microbatch runs six slots after the one before, and no two ops of an
// actor meet. How long a microbatch lives in the block is how much an actor holds.
using Block = std::vector<std::array<std::int32_t, 4>>;

// The order that repeats `block`, with weight gradients in the gaps, and warm-up and cool-down
// moved as early as they can be without holding more at the peak. Qi et al., Pipeline Parallelism
// with Controllable Memory, arXiv 2405.15362. Throws Error for sizes beyond what can be laid out.
Schedule repeat_block(const char* name, const GenerateOptions& options, const Block& block);

}  // namespace penstock
