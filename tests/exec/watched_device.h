// File: watched_device.h. A device that is watched while it runs: what it holds, and which values
// its parameters have after every step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actor_plan.h"
#include "device/device.h"
#include "forwarding_device.h"
#include "penstock/execute.h"
#include "run.h"

namespace penstock {

// What the devices of one run were seen to do. Filled by all actors' threads.
class Watch {
 public:
  // By name, after step `step` (from 0). What several stages hold must agree to the bit.
  using Values = std::map<std::string, std::vector<float>>;

  void updated(std::int64_t step, std::span<const ParameterView> tensors) {
    const std::lock_guard lock(mutex_);
    if (after_.size() <= static_cast<std::size_t>(step)) {
      after_.resize(static_cast<std::size_t>(step) + 1);
    }
    for (const ParameterView& tensor : tensors) {
      std::vector<float> values(tensor.values.begin(), tensor.values.end());
      const auto [seen, is_new] = after_[static_cast<std::size_t>(step)].try_emplace(tensor.name);
      if (is_new) {
        seen->second = std::move(values);
        continue;
      }
      ++copies_;
      if (seen->second != values) ++different_;
    }
  }

  void held(std::int32_t actor, double in_flight) {
    const std::lock_guard lock(mutex_);
    double& peak = peak_[actor];
    peak = std::max(peak, in_flight);
  }

  void rolled_back(std::int32_t actor) {
    const std::lock_guard lock(mutex_);
    ++roll_backs_[actor];
  }

  const std::vector<Values>& after() const { return after_; }
  std::int64_t copies() const { return copies_; }        // compared with another stage's
  std::int64_t different() const { return different_; }  // of them
  double peak_in_flight(std::int32_t actor) const { return peak_.at(actor); }
  // Of stages.
  std::int32_t roll_backs(std::int32_t actor) const {
    const auto found = roll_backs_.find(actor);
    return found == roll_backs_.end() ? 0 : found->second;
  }

 private:
  std::mutex mutex_;
  std::vector<Values> after_;
  std::int64_t copies_ = 0;
  std::int64_t different_ = 0;
  std::map<std::int32_t, double> peak_;
  std::map<std::int32_t, std::int32_t> roll_backs_;
};

class WatchedDevice : public ForwardingDevice {
 public:
  WatchedDevice(const RunPlan& plan, std::int32_t actor, std::unique_ptr<Device> device,
                Watch& watch)
      : ForwardingDevice(std::move(device)),
        pipeline_(plan.program.schedule.pipeline),
        learns_(penstock::learns(plan.program)),
        actor_(actor),
        watch_(watch) {}

  void begin_step(std::int64_t step) override {
    in_flight_ = 0;
    forwards_.clear();
    device_->begin_step(step);
  }
  // A forward that runs again replaces what it kept.
  void run(const Op& op, std::span<const float> input, std::span<float> output) override {
    if (op.kind == OpKind::Forward && forwards_.insert(op).second) {
      watch_.held(actor_, in_flight_ += share(op));
    }
    device_->run(op, input, output);
    if (gives_weight_gradient(op.kind) || !learns_) in_flight_ -= share(op);
  }
  void update(std::int32_t stage, std::int64_t step, double learning_rate,
              double gradient_scale) override {
    device_->update(stage, step, learning_rate, gradient_scale);
    watch_.updated(step, device_->parameters(stage));
  }
  void roll_back(std::int32_t stage) override {
    watch_.rolled_back(actor_);
    device_->roll_back(stage);
  }

 private:
  // Of a microbatch: a slice of a chunk counts 1 / (slices times the route's chunks on this actor).
  double share(const Op& op) const {
    const Microbatch& microbatch = pipeline_.microbatches[static_cast<std::size_t>(op.microbatch)];
    const Route& route = pipeline_.routes[static_cast<std::size_t>(microbatch.route)];
    const auto chunks = std::count_if(route.begin(), route.end(), [&](std::int32_t stage) {
      return pipeline_.stages[static_cast<std::size_t>(stage)].actor == actor_;
    });
    return 1.0 / (static_cast<double>(chunks) * microbatch.slices());
  }

  const Pipeline& pipeline_;
  bool learns_;
  std::int32_t actor_;
  Watch& watch_;
  double in_flight_ = 0;
  std::set<Op> forwards_;  // of the step
};

inline MakeDevice watched(const MakeDevice& make, Watch& watch) {
  return [make, &watch](const RunPlan& plan, std::int32_t actor) {
    return std::make_unique<WatchedDevice>(plan, actor, make(plan, actor), watch);
  };
}

// ||a - b|| / ||a|| over all values.
inline double relative_distance(const Watch::Values& a, const Watch::Values& b) {
  double difference = 0;
  double norm = 0;
  for (const auto& [name, values] : a) {
    const std::vector<float>& others = b.at(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double d = static_cast<double>(values[i]) - static_cast<double>(others.at(i));
      difference += d * d;
      norm += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
  }
  return std::sqrt(difference / norm);
}

}  // namespace penstock
