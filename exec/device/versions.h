// File: versions.h. Which version of a stage's weights each op uses, and where its gradients go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/op.h"
#include "units.h"

namespace penstock {

// Follows a stage along its ops. Where it updates inside its order (U), forwards read the latest
// version of the weights and their backwards use the same one, so several are needed at once; and
// gradients of later microbatches may come before the update of earlier ones, so they gather
// apart. Buffers for both are numbered; the lowest free one is taken.
class Versions {
 public:
  // `order`: the stage's ops of one step. REQUIRES: a schedule that check() accepts.
  Versions(std::span<const Op> order, const Units& units);

  std::int32_t value_buffers() const { return static_cast<std::int32_t>(readers_.size()); }
  std::int32_t gradient_buffers() const { return static_cast<std::int32_t>(holds_.size()); }
  bool updates_inside() const { return updates_ > 0; }

  // What an op of the step uses; an F the current version.
  std::int32_t values_of(const Op& op) const;
  std::int32_t gradients_of(const Op& op);
  std::int32_t current() const { return current_; }
  // It has run.
  void finish(const Op& op);

  struct Update {
    std::int32_t to = 0;         // where the next version goes, from now on the current one
    std::int32_t gradients = 0;  // what it applies; free from now on
  };
  // The next update of the step; the last is followed by the next step's first. REQUIRES:
  // updates_inside().
  Update update();

 private:
  std::int32_t gradients_of_group(std::int32_t group);

  Units units_;
  std::int32_t updates_ = 0;
  std::vector<std::int32_t> group_;    // by microbatch: the update that applies it
  std::vector<std::int32_t> readers_;  // by value buffer: forwards whose backward is to come
  std::vector<std::int32_t> read_;     // by unit
  std::vector<std::int32_t> holds_;    // by gradient buffer: the update it gathers for, -1: free
  std::int32_t current_ = 0;
  std::int32_t next_ = 0;  // update
};

}  // namespace penstock
