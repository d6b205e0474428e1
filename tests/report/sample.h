// File: sample.h. Timelines made by hand: what reports are tested on.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/timeline.h"

namespace penstock::test {

struct Sample {
  std::string name = "1f1b";
  std::int32_t actors = 4;
  std::int32_t microbatches = 8;
  Nanoseconds forward = 1'000'000;
  Nanoseconds backward = 2'000'000;
  Nanoseconds latency = 100'000;
  bool split = false;  // every B as I and, right after it, W
  double jitter = 0;   // each op takes up to this part longer, always the same
  TimelineSource source = TimelineSource::Predicted;
  std::int64_t activation_bytes = 1 << 20;
  std::int64_t weight_bytes = 10 << 20;
};

// 1F1B with one stage per actor, each op as early as it can be, an update at the end of each actor.
Timeline one_f_one_b(const Sample& sample = {});

}  // namespace penstock::test
