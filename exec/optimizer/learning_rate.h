// File: learning_rate.h. Warm-up, cosine, clipping: the numbers that update() is given.
#pragma once

#include <cstdint>

#include "penstock/experiment.h"

namespace penstock {

// The rate of step `step` (from 0) of `steps`: rises linearly over warmup_steps, reaching lr at
// step warmup_steps - 1, then falls along half a cosine to min_lr at the last step. A single step
// after the warm-up runs at lr.
double learning_rate(const Optimizer& optimizer, std::int64_t step, std::int64_t steps);

// What gradients are multiplied by so that their norm is at most `clip`; 1 when clip is 0.
// min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
double clip_scale(double gradient_norm, double clip);

}  // namespace penstock
