// File: windows.h. The losses that a stage learns from, and the gradients that it passes on.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/pipeline.h"

namespace penstock {

// The windows that hold a stage, in order: the one that ends with it, if one does, whose loss it
// computes itself; then those that reach further, whose gradients come from the stage behind.
// Backpropagation has one window, over the whole route.
struct StageWindows {
  bool has_loss = false;
  std::int32_t loss = -1;     // which of the route's losses, from 0; the last stage has the last
  std::int32_t received = 0;  // gradients that it gets in one message
  // Gradients that it sends in one: of its first windows, which hold the stage before it, too.
  std::int32_t sent = 0;
  // W takes the message, since nothing that is sent builds on it. Then I has its own loss's alone.
  bool late = false;

  std::int32_t count() const { return received + (has_loss ? 1 : 0); }
  std::int32_t count_of_input_gradient() const { return late ? count() - received : count(); }
};

// By stage. REQUIRES: check() finds no fault in the pipeline.
std::vector<StageWindows> stage_windows(const Pipeline& pipeline);

}  // namespace penstock
