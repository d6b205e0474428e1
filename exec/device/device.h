// File: device.h. One actor's stages and the maths they run: the executor's second seam.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/execute.h"
#include "penstock/op.h"

namespace penstock {

// The squared gradient norm of one tensor, in double, summed in a fixed order. `tensor` is its
// index in the model's canonical list, the same on every actor.
struct TensorNorm {
  std::int32_t tensor = 0;
  double squared = 0;
};

// One parameter tensor with its present values, which stay the device's.
struct ParameterView {
  std::string name;  // Hugging Face's
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

// One object per actor, used by that actor's thread only. Activations and gradients at stage
// boundaries are float[sequences][tokens of the slice][hidden].
class Device {
 public:
  virtual ~Device() = default;

  // False: nothing is computed (sleep), so there is no loss, no norm and no parameter.
  virtual bool learns() const { return true; }

  // Floats of what the op gives to another stage: F the activation (0 on the last stage of a
  // route), B and I the gradients (0 where none is sent). Of any stage, also another actor's.
  virtual std::int64_t boundary_floats(const Op& op) const = 0;
  // For the memory report: held from F to B or W per microbatch, the stage's input included; of
  // that, from F to R, where there is an R, and from I to W; weights, gradients, optimizer.
  virtual std::int64_t activation_bytes(std::int32_t stage) const = 0;
  virtual std::int64_t kept_bytes(std::int32_t stage) const = 0;
  virtual std::int64_t left_bytes(std::int32_t stage) const { return activation_bytes(stage); }
  virtual std::int64_t weight_bytes(std::int32_t stage) const = 0;

  // Picks the tokens of step `step` (from 0). What runs next are forwards.
  virtual void begin_step(std::int64_t step) = 0;
  // Before the step's first backward.
  virtual void clear_gradients() = 0;

  // Runs one op. F: `input` the activation (empty on the first stage), `output` the activation
  // (empty on the last). B, I: `input` the gradient of the stage's output (empty on the last
  // stage), `output` that of its input (empty on the first). W: both empty; what it needs was kept
  // by I. With local learning both are a gradient for each window that the two stages share, one
  // behind the other (empty without any), and W takes `input` instead of I where I sends nothing
  // that builds on it (StageWindows::late). R: both empty; F kept only what that takes. `input` of
  // F must stay unchanged until the op's B or W has run. A slice's F attends to the keys and values
  // that the F of the slices before it kept; its B or I adds to their gradients.
  virtual void run(const Op& op, std::span<const float> input, std::span<float> output) = 0;

  // Sum over the op's tokens of the cross-entropy. REQUIRES: `op` is an F that has run, on one of
  // this actor's stages with a loss: the last of a route, or of a window.
  virtual double loss_sum(const Op& op) const = 0;

  // The gradient accumulator of the embedding that `stage` shares with the other end of its route
  // (tied embeddings); empty when it shares none.
  virtual std::span<float> shared_gradient(std::int32_t stage) = 0;
  // All gradient accumulators of the stage, laid out alike in stages that hold the same part.
  virtual std::span<float> gradients(std::int32_t stage) = 0;
  virtual std::vector<TensorNorm> squared_norms(std::int32_t stage) const = 0;

  // The optimizer on one stage: gradients are multiplied by `gradient_scale` (clipping) first.
  virtual void update(std::int32_t stage, std::int64_t step, double learning_rate,
                      double gradient_scale) = 0;

  virtual std::vector<ParameterView> parameters(std::int32_t stage) const = 0;

  // Forgets what the optimizer has learnt from earlier steps (its moments).
  virtual void reset_optimizer() = 0;
  // One stage's parameters and optimizer state as they are, to undo an update. Where the program
  // has verdicts, on all actors but the last: their memory is there from the beginning. An F may
  // run once more after roll_back(): what it kept is replaced.
  virtual void keep(std::int32_t stage) = 0;
  virtual void roll_back(std::int32_t stage) = 0;
};

// The CPU device: OpenBLAS and our own element-wise kernels, fp32.
std::unique_ptr<Device> make_cpu_device(const RunPlan& plan, std::int32_t actor);

// Waits as long as plan.costs say instead of computing; moves real (small) messages.
std::unique_ptr<Device> make_sleep_device(const RunPlan& plan, std::int32_t actor);

}  // namespace penstock
