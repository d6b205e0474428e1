// File: forwarding_device.h. A device that hands everything to another one: to be changed in parts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/device.h"

namespace penstock {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  bool learns() const override { return device_->learns(); }
  std::int64_t boundary_floats(const Op& op) const override { return device_->boundary_floats(op); }
  std::int64_t activation_bytes(std::int32_t stage) const override {
    return device_->activation_bytes(stage);
  }
  std::int64_t kept_bytes(std::int32_t stage) const override { return device_->kept_bytes(stage); }
  std::int64_t left_bytes(std::int32_t stage) const override { return device_->left_bytes(stage); }
  std::int64_t weight_bytes(std::int32_t stage) const override {
    return device_->weight_bytes(stage);
  }
  void begin_step(std::int64_t step) override { device_->begin_step(step); }
  void clear_gradients() override { device_->clear_gradients(); }
  void run(const Op& op, std::span<const float> input, std::span<float> output) override {
    device_->run(op, input, output);
  }
  double loss_sum(const Op& op) const override { return device_->loss_sum(op); }
  std::span<float> shared_gradient(std::int32_t stage) override {
    return device_->shared_gradient(stage);
  }
  std::span<float> gradients(std::int32_t stage) override { return device_->gradients(stage); }
  std::vector<TensorNorm> squared_norms(std::int32_t stage) const override {
    return device_->squared_norms(stage);
  }
  void update(std::int32_t stage, std::int64_t step, double learning_rate,
              double gradient_scale) override {
    device_->update(stage, step, learning_rate, gradient_scale);
  }
  std::vector<ParameterView> parameters(std::int32_t stage) const override {
    return device_->parameters(stage);
  }
  void reset_optimizer() override { device_->reset_optimizer(); }
  void keep(std::int32_t stage) override { device_->keep(stage); }
  void roll_back(std::int32_t stage) override { device_->roll_back(stage); }

 protected:
  std::unique_ptr<Device> device_;
};

}  // namespace penstock
