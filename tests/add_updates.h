// File: add_updates.h. Optimizer steps at random places of a schedule that has none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "penstock/schedule.h"

namespace penstock {

// Between the ops of a stage wherever `coin()` says so and the gradients of further microbatches,
// up to some number, are all there; and behind its last. REQUIRES: one route, and something is
// learnt.
template <typename Coin>
void add_updates(Schedule& schedule, Coin coin) {
  const auto microbatches = static_cast<std::int32_t>(schedule.pipeline.microbatches.size());
  std::vector<std::int32_t> applied(schedule.pipeline.stages.size(), -1);
  for (std::vector<Step>& steps : schedule.order) {
    std::vector<Step> order;
    for (auto step = steps.begin(); step != steps.end(); ++step) {
      order.push_back(*step);
      const auto behind = step + 1;
      if (behind != steps.end() && behind->overlaps_previous) continue;  // nothing splits a pair
      const auto gradient_comes = [&](std::int32_t stage, std::int32_t microbatch) {
        return std::any_of(behind, steps.end(), [&](const Step& later) {
          return later.op.stage == stage && later.op.microbatch == microbatch &&
                 gives_weight_gradient(later.op.kind);
        });
      };
      for (auto done = step;; --done) {
        const std::int32_t stage = done->op.stage;
        std::int32_t ready = 0;
        while (ready < microbatches && !gradient_comes(stage, ready)) ++ready;
        std::int32_t& last = applied[static_cast<std::size_t>(stage)];
        if (ready - 1 > last && (ready == microbatches || coin())) {
          last = ready - 1;
          order.push_back({{OpKind::Update, stage, last, 0}});
        }
        if (!done->overlaps_previous) break;
      }
    }
    steps = std::move(order);
  }
}

}  // namespace penstock
