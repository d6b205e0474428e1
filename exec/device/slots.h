// File: slots.h. Which of a stage's buffers each microbatch uses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/op.h"

namespace penstock {

// The order of a stage's ops is fixed, so buffers are shared out once: a microbatch takes the
// lowest free one. A buffer for activations is held from F to B or W, one for gradients from I to
// W, or during B.
struct Slots {
  std::vector<std::int32_t> kept;      // [microbatch]: buffer number, -1: the stage never sees it
  std::vector<std::int32_t> gradient;  // likewise; -1: no backward
  std::int32_t kept_count = 0;         // the peak in flight
  std::int32_t gradient_count = 0;
  std::int32_t weight_gradients = 0;  // B and W ops: that many additions per step
};

// `order`: the ops of one stage as they run.
Slots share_out(std::span<const Op> order, std::int32_t microbatches);

}  // namespace penstock
