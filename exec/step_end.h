// File: step_end.h. What follows the last op of a step: shared gradients, the global norm, the
// optimizer. Every sum has an order of its own, so that all actors and all schedules agree to the
// bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "penstock/execute.h"
#include "transport/transport.h"

namespace penstock {

// Channels over which actors exchange the gradients of shared weights, in pieces: kind
// BackwardWeight, one per directed pair of actors of a group.
std::vector<Channel> shared_channels(const Program& program);

// REQUIRES: all references outlive the object. One thread.
class StepEnd {
 public:
  // Collective: agrees on the size of the exchanges.
  StepEnd(const RunPlan& plan, Device& device, Transport& transport);

  // Sets the step whose end comes next; `step` from 0.
  void begin_step(std::int64_t step);

  // Program::shared[group]: every stage of it gets the sum in stage order.
  void reduce_gradients(std::int32_t group);

  // Exchanges tensor norms and microbatch losses. Throws RunError, the same on every actor, when a
  // loss or the norm is not a finite number.
  void exchange_norms();

  void update(std::int32_t stage);

  // Of the step that has just ended; `seconds` is for the caller to fill in.
  const StepRecord& record() const { return record_; }

 private:
  void exchange_piece(std::int32_t group, std::size_t offset, std::size_t floats);
  void fill_block();
  void read_blocks();
  [[noreturn]] void throw_bad_loss(std::size_t microbatch) const;

  const RunPlan& plan_;
  Device& device_;
  Transport& transport_;
  std::vector<std::int32_t> own_stages_;
  std::size_t norms_per_actor_ = 0;  // of the actor with the most tensors
  std::vector<std::byte> block_;     // this actor's part of the exchange
  std::vector<std::byte> blocks_;    // everybody's
  std::vector<float> sum_;           // a piece
  std::vector<std::int64_t> sent_;   // pieces sent, by actor, over the whole run
  std::vector<std::int64_t> received_;
  std::int64_t step_ = 0;
  double gradient_scale_ = 1;
  StepRecord record_;
};

}  // namespace penstock
