// File: step_end.h. What follows the last op of a step: shared gradients, the global norm, the
// optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/device.h"
#include "order_updates.h"
#include "penstock/execute.h"
#include "post_validation.h"
#include "shared_gradients.h"
#include "step_sums.h"
#include "transport/transport.h"

namespace penstock {

// REQUIRES: all references outlive the object. One thread.
class StepEnd {
 public:
  // Collective: agrees on the size of the exchanges.
  StepEnd(const RunPlan& plan, Device& device, Transport& transport);
  StepEnd(const StepEnd&) = delete;

  // Sets the step whose end comes next; `step` from 0.
  void begin_step(std::int64_t step, double learning_rate);

  void reduce_gradients(std::int32_t group) { shared_.reduce(group); }

  // Exchanges tensor norms and microbatch losses. Throws RunError, the same on every actor, when a
  // loss or a gradient is not a finite number.
  void exchange_norms();

  // What everybody has, and the loss of it: all there is behind a step that exchanges no norms (its
  // norm is NaN).
  void exchange_losses();

  void update(std::int32_t stage);
  // An update inside the order.
  void update(const Op& op);

  // Of the step that has just ended; `seconds` is for the caller to fill in. Where updates are
  // verified in the next step, validation() has the record.
  const StepRecord& record() const { return record_; }

  // Instead of exchange_norms() where the program has verdicts; null where it has none.
  PostValidation* validation() { return validation_ ? &*validation_ : nullptr; }

 private:
  const RunPlan& plan_;
  Device& device_;
  SharedGradients shared_;
  StepSums sums_;
  std::optional<PostValidation> validation_;
  std::int64_t step_ = 0;
  OrderUpdates inside_;
  std::vector<std::int32_t> updated_;  // by stage: how often in this step, inside the order
  double gradient_scale_ = 1;
  StepRecord record_;
};

}  // namespace penstock
