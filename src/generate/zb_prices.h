// File: zb_prices.h. What the zero-bubble search reckons with: one stage per actor, F, I and W.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/costs.h"
#include "penstock/index.h"

namespace penstock {

class ZbPrices {
 public:
  // REQUIRES: a stage per actor, each with F, I and W for all microbatches. Keeps `costs`.
  ZbPrices(const CostTable& costs, std::int32_t microbatches)
      : costs_(costs), microbatches_(microbatches) {
    for (const StageCosts& stage : costs.stages) {
      for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
        const Duration& duration = *stage.op[index(kind)];
        varied_ = varied_ || !duration.varied.empty();
        base_[index(kind)].push_back(duration.base);
      }
      varied_hops_ = varied_hops_ || !stage.message.varied.empty();
      hops_.push_back(stage.message.latency + stage.message.occupancy(stage.message.bytes));
    }
  }

  std::int32_t actors() const { return static_cast<std::int32_t>(hops_.size()); }
  std::int32_t microbatches() const { return microbatches_; }

  Nanoseconds of(OpKind kind, std::int32_t actor, std::int32_t microbatch) const {
    if (varied_) return costs_.duration({kind, actor, microbatch, 0});
    return base_[index(kind)][index(actor)];
  }
  // Of the microbatch, from `actor` to the next one, or back.
  Nanoseconds hop(std::int32_t actor, std::int32_t microbatch) const {
    if (!varied_hops_) return hops_[index(actor)];
    const MessageCost& message = costs_.stages[index(actor)].message;
    return message.latency + message.occupancy(message.bytes_of(microbatch, 0));
  }

 private:
  const CostTable& costs_;
  std::int32_t microbatches_;
  bool varied_ = false;
  bool varied_hops_ = false;
  std::array<std::vector<Nanoseconds>, kOpKinds> base_;  // [kind][actor]
  std::vector<Nanoseconds> hops_;
};

// Memory of an actor in millionths of a microbatch's activation, so that sums are exact.
struct ZbMemory {
  static constexpr std::int64_t kActivation = 1'000'000;
  std::int64_t most = kActivation;   // at any time
  std::int64_t share = kActivation;  // what an input gradient leaves for the weight gradient

  // What the op adds.
  std::int64_t change(OpKind kind) const {
    if (kind == OpKind::Forward) return kActivation;
    return kind == OpKind::BackwardInput ? share - kActivation : -share;
  }
};

}  // namespace penstock
