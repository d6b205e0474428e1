// File: post_validation.h. Optimizer steps that are verified in the next step (arXiv 2401.10241,
// section 4): nobody waits for the others' gradient norms before going on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/device.h"
#include "penstock/execute.h"
#include "step_sums.h"
#include "transport/transport.h"

namespace penstock {

// The weights are those of a flush, to the bit, as soon as the verdict is there.
//
// A wrong update is undone from a copy of parameters and moments that the device keeps until then.
// The paper inverts AdamW in place instead (appendix C), which needs no copy, but rounds: then no
// two schedules would agree any more.
//
// REQUIRES: all references outlive the object; at least two actors. One thread.
class PostValidation {
 public:
  PostValidation(const RunPlan& plan, Device& device, Transport& transport, StepSums& sums);
  PostValidation(const PostValidation&) = delete;

  // Where norms and verdicts travel: kind Update. The same on every actor.
  std::vector<Channel> channels() const;

  // `record`: what is known of the step whose end comes next.
  void begin_step(const StepRecord& record) { record_ = record; }

  // At the step's end, in this order. The last actor, which then knows all norms, throws RunError
  // when a loss or a gradient is not a finite number.
  void partial_norm();
  void receive_norm();
  void send_norm();
  // Unclipped on all actors but the last; nothing where the norms known so far already forbid that.
  void update(std::int32_t stage);

  // In the next step, where is_open(): whether the last step's update still waits for its verdict.
  bool is_open() const { return open_.has_value(); }
  // Returns when it is there; on the last actor at once, which tells the others.
  void await_verdict();
  // False: what was made of the weights since the update has to be made again. They are right now.
  bool settle();
  // Of the step that was settled, without `seconds`; once.
  std::optional<StepRecord> take_record();
  // Waits until all that was sent has left.
  void finish_sends();

 private:
  struct Open {
    StepRecord record;
    bool is_made = false;  // the update, unclipped
  };

  bool is_last() const { return transport_.actor() + 1 == transport_.actors(); }
  double scale_of(double norm) const;
  void judge();
  void make(std::int32_t stage, const StepRecord& record, double scale);

  const RunPlan& plan_;
  Device& device_;
  Transport& transport_;
  StepSums& sums_;
  std::vector<std::int32_t> own_stages_;
  StepRecord record_;
  std::optional<Open> open_;
  std::optional<StepRecord> settled_;
  std::array<double, 2> verdict_{};  // loss and norm, as they are sent
  std::vector<Ticket> sends_;
  std::int64_t norms_ = 0;  // passed on so far, and verdicts
  std::int64_t verdicts_ = 0;
};

}  // namespace penstock
