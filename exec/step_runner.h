// File: step_runner.h. Runs one step after another on one actor, and measures each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actor_plan.h"
#include "interpreter.h"
#include "measured.h"
#include "step_end.h"

namespace penstock {

struct MeasuredStep {
  Nanoseconds begin = 0;  // agreed: the same on every actor, but where updates are verified later
  std::vector<Mark> marks;
};

class StepRunner {
 public:
  // Collective. Plans, allocates every buffer and opens the transport.
  StepRunner(const RunPlan& plan, const RunOptions& options, std::vector<StageInfo> stages,
             Device& device, Transport& transport);
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  // Collective: one step on the data of step `step` (from 0). All actors begin at an agreed time;
  // `seconds` runs from there to the end of the last actor.
  //
  // Where updates are verified in the next step, each actor begins when it has ended the step
  // before, and the record is of that one, nullopt in the first step; `seconds` is from this
  // actor's begin to its next, of the last step to the verdict.
  std::optional<StepRecord> run(std::int64_t step, MeasuredStep& measured);
  // Collective, after the last step of several: what is left of it. The record if it is not known
  // yet.
  std::optional<StepRecord> finish();

  // Collective: the first step without learning. All its work is done, with a learning rate of 0.
  // Several in a row end with finish().
  void rehearse(MeasuredStep& measured) { run(0, 0, measured); }

  std::span<const StageInfo> stages() const { return stages_; }
  std::span<const MessagePlan> messages() const { return messages_; }
  std::span<const Channel> probes() const { return probes_; }  // empty without a profile
  const Traffic& traffic() const { return interpreter_.traffic(); }
  Device& device() { return device_; }
  Transport& transport() { return transport_; }

 private:
  std::optional<StepRecord> run(std::int64_t step, double learning_rate, MeasuredStep& measured);
  Nanoseconds agree_on_begin();
  void begin_together(MeasuredStep& measured);
  std::optional<StepRecord> settled(Nanoseconds begin, Nanoseconds end);

  const RunPlan& plan_;
  Device& device_;
  Transport& transport_;
  std::vector<StageInfo> stages_;
  std::vector<MessagePlan> messages_;
  std::vector<Channel> probes_;
  ActorPlan actor_plan_;
  Interpreter interpreter_;
  StepEnd step_end_;
  bool exchanges_norms_;
  Nanoseconds begin_ = 0;      // of the latest step
  std::int64_t executed_ = 0;  // steps, profiling ones included: message numbers go on
};

}  // namespace penstock
