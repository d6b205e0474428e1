// File: step_sums.h. The losses and gradient norms of a step and what they add up to. Every sum has
// an order of its own, so that all actors and all schedules agree to the bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "penstock/execute.h"
#include "transport/transport.h"

namespace penstock {

// REQUIRES: all references outlive the object. One thread.
class StepSums {
 public:
  // Collective: agrees on the size of what is exchanged.
  StepSums(const RunPlan& plan, Device& device, Transport& transport);

  // Takes this actor's losses and norms from the device.
  void measure();
  // Collective: measures, and gives everybody's to all.
  void exchange();

  // What the first `actors` actors have, to be passed on; all have the same size. Who has measured
  // finds its own there.
  std::span<double> of_first(std::int32_t actors);
  std::size_t size_of_one() const { return block_.size(); }

  // REQUIRES, here and below: everybody's are there. Throws RunError, naming step `step` (from 1),
  // when a loss or a gradient is not a finite number.
  // Of each window along the routes; the last is the model's own.
  std::vector<double> mean_losses(std::int32_t step) const;
  double global_norm(std::int32_t step) const;
  // Of the first `actors` actors' gradients; not finite where one of these is not.
  double partial_norm(std::int32_t actors) const;

 private:
  double mean_loss(std::int32_t step, std::span<const Op> ops, std::size_t first) const;
  std::int32_t actor_of(const Op& op) const;
  std::span<const double> block_of(std::int32_t actor) const;
  std::span<const double> norms_of(std::int32_t actor) const;

  const RunPlan& plan_;
  Device& device_;
  Transport& transport_;
  std::vector<std::int32_t> own_stages_;   // with norms; none where nobody asks for these
  std::vector<std::vector<Op>> loss_ops_;  // that a loss comes from: by loss, microbatch, slice
  std::size_t losses_ = 0;                 // of all these ops
  std::vector<std::uint64_t> norms_;       // tensors of each actor
  // What an actor gives: the losses of its ops (0 for others'), then tensor and squared norm of
  // each of its tensors.
  std::vector<double> block_;
  std::vector<double> blocks_;  // everybody's
};

// The stages that sit on `actor`.
std::vector<std::int32_t> stages_of(const Pipeline& pipeline, std::int32_t actor);

// What a run that diverges may need.
inline constexpr const char* kDiverged = "a lower learning rate or more warm-up steps may help";

}  // namespace penstock
