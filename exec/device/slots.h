// File: slots.h. Which of a stage's buffers each slice of a microbatch uses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/op.h"
#include "units.h"

namespace penstock {

// The order of a stage's ops is fixed, so buffers are shared out once: a slice takes the lowest
// free one. A buffer for activations is held from F to B or W; of a microbatch without backwards to
// its last slice's F, which attends to all before. Those for gradients are taken for
// all slices of a microbatch at its first B or I, the last slice's, which adds to the gradients of
// the keys and values of all others; each is held to its slice's B or W.
// On a stage with recomputation a second buffer takes what R makes: the F of such a unit needs one
// while it runs, and R takes another, which is held to B or W. Units without R hold the first.
struct Slots {
  std::vector<std::int32_t> kept;      // [unit]: buffer number, -1: the stage never sees it
  std::vector<std::int32_t> at_first;  // likewise, of what R makes: used by F
  std::vector<std::int32_t> remade;    // used by R and B, I, W; -1, as above: no recomputation
  std::vector<std::int32_t> gradient;  // likewise; -1: no backward
  std::int32_t kept_count = 0;         // the peak in flight
  std::int32_t remade_count = 0;
  std::int32_t gradient_count = 0;
  std::int32_t weight_gradients = 0;  // B and W ops: that many additions per step
};

// `order`: the ops of one stage as they run. REQUIRES: a schedule that check() accepts.
Slots share_out(std::span<const Op> order, const Units& units);

}  // namespace penstock
