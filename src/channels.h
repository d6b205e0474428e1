// File: channels.h. The directed lines between actors: one per (from, to, kind of tensor).
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/depend.h"
#include "penstock/pipeline.h"

namespace penstock {

struct Channels {
  std::int32_t count = 0;
  // By stage: the channel that its activations, or its gradients, leave on; -1 when the receiving
  // stage sits on the same actor or there is none.
  std::vector<std::int32_t> activation;
  std::vector<std::int32_t> gradient;
};

// Channels are numbered in the order of (from, to, kind).
Channels channels_of(const Pipeline& pipeline, const Dependencies& dependencies);

}  // namespace penstock
