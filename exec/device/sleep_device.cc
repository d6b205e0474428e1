#include <algorithm>
#include <vector>

#include "clock.h"
#include "device/device.h"
#include "windows.h"

namespace penstock {
namespace {

// Spinning for the last part makes an op as exact as the clock; sleeping before that lets many
// actors share a core.
constexpr Nanoseconds kSpin = 200'000;
constexpr std::int64_t kLargestMessage = 1 << 14;  // floats: real messages, but small

class SleepDevice final : public Device {
 public:
  explicit SleepDevice(const RunPlan& plan)
      : costs_(plan.costs),
        next_(next_on_route(plan.program.schedule.pipeline)),
        previous_(previous_on_route(plan.program.schedule.pipeline)),
        windows_(stage_windows(plan.program.schedule.pipeline)),
        kept_(penstock::kept_bytes(plan.costs, plan.program.schedule.pipeline)) {}

  bool learns() const override { return false; }

  std::int64_t boundary_floats(const Op& op) const override {
    const auto stage = static_cast<std::size_t>(op.stage);
    const bool forward = op.kind == OpKind::Forward;
    const std::int32_t tensors = forward ? (next_[stage] < 0 ? 0 : 1) : windows_[stage].sent;
    if (tensors == 0) return 0;
    const std::int32_t boundary = forward ? op.stage : previous_[stage];
    const std::int64_t bytes = tensors * at(boundary).message.bytes_of(op.microbatch, op.slice);
    const std::int64_t floats = bytes / static_cast<std::int64_t>(sizeof(float));
    return std::clamp<std::int64_t>(floats, 1, kLargestMessage);
  }
  std::int64_t activation_bytes(std::int32_t stage) const override {
    return at(stage).activation_bytes;
  }
  std::int64_t kept_bytes(std::int32_t stage) const override {
    return kept_[static_cast<std::size_t>(stage)];
  }
  std::int64_t left_bytes(std::int32_t stage) const override {
    return penstock::left_bytes(at(stage));
  }
  std::int64_t weight_bytes(std::int32_t stage) const override { return at(stage).weight_bytes; }

  void begin_step(std::int64_t) override {}
  void clear_gradients() override {}
  void run(const Op& op, std::span<const float>, std::span<float>) override {
    pass(costs_.duration(op));
  }
  double loss_sum(const Op&) const override { return 0; }
  // Called once per reduction, so its time passes here.
  std::span<float> shared_gradient(std::int32_t stage) override {
    pass(at(stage).reduce);
    return {};
  }
  std::span<float> gradients(std::int32_t stage) override { return shared_gradient(stage); }
  std::vector<TensorNorm> squared_norms(std::int32_t) const override { return {}; }
  void update(std::int32_t stage, std::int64_t, double, double) override { pass(at(stage).update); }
  std::vector<ParameterView> parameters(std::int32_t) const override { return {}; }
  void reset_optimizer() override {}
  void keep(std::int32_t) override {}
  void roll_back(std::int32_t) override {}

 private:
  const StageCosts& at(std::int32_t stage) const {
    return costs_.stages[static_cast<std::size_t>(stage)];
  }
  static void pass(Nanoseconds time) {
    if (time > 0) wait_until(now() + time, kSpin);
  }

  const CostTable& costs_;
  std::vector<std::int32_t> next_;
  std::vector<std::int32_t> previous_;
  std::vector<StageWindows> windows_;
  std::vector<std::int64_t> kept_;  // by stage
};

}  // namespace

std::unique_ptr<Device> make_sleep_device(const RunPlan& plan, std::int32_t) {
  return std::make_unique<SleepDevice>(plan);
}

}  // namespace penstock
