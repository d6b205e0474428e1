// File: step_end.h. What follows the last op of a step: shared gradients, the global norm, the
// optimizer. Every sum has an order of its own, so that all actors and all schedules agree to the
// bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "penstock/execute.h"
#include "shared_gradients.h"
#include "transport/transport.h"

namespace penstock {

// REQUIRES: all references outlive the object. One thread.
class StepEnd {
 public:
  // Collective: agrees on the size of the exchanges.
  StepEnd(const RunPlan& plan, Device& device, Transport& transport);

  // Sets the step whose end comes next; `step` from 0.
  void begin_step(std::int64_t step, double learning_rate);

  void reduce_gradients(std::int32_t group) { shared_.reduce(group); }

  // Exchanges tensor norms and microbatch losses. Throws RunError, the same on every actor, when a
  // loss or a gradient is not a finite number.
  void exchange_norms();

  // What everybody has, and the loss of it: all there is at the end of a step in which nothing was
  // learnt (its norm is NaN).
  void exchange_losses();

  void update(std::int32_t stage);

  // Of the step that has just ended; `seconds` is for the caller to fill in.
  const StepRecord& record() const { return record_; }

 private:
  std::int32_t actor_of(const Op& op) const;
  std::span<const double> block_of(std::int32_t actor) const;
  double mean_loss() const;
  double global_norm() const;
  [[noreturn]] void throw_bad_loss(const Op& op) const;

  const RunPlan& plan_;
  Device& device_;
  Transport& transport_;
  SharedGradients shared_;
  std::vector<std::int32_t> own_stages_;
  std::vector<Op> loss_ops_;          // that a loss comes from, by microbatch and slice
  std::vector<std::uint64_t> norms_;  // tensors of each actor
  // What an actor gives: the losses of its ops (0 for others'), then tensor and squared norm of
  // each of its tensors.
  std::vector<double> block_;
  std::vector<double> blocks_;  // everybody's
  std::int64_t step_ = 0;
  double gradient_scale_ = 1;
  StepRecord record_;
};

}  // namespace penstock
