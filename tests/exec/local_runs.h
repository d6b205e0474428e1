// File: local_runs.h. Local learning to be executed, and the slopes that its gradients must be.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "forwarding_device.h"
#include "training_runs.h"

namespace penstock {

struct LocalCase {
  std::string name;
  std::map<std::string, std::string> option;
};

inline void PrintTo(const LocalCase& local, std::ostream* out) {
  *out << local.name;
}

inline std::vector<LocalCase> local_cases() {
  return {
      {"greedy", {}},
      {"greedy_mlp", {{"aux", "mlp"}}},
      {"greedy_block", {{"aux", "block"}}},
      {"chunked", {{"variant", "chunked"}}},
      {"overlapping", {{"variant", "overlapping"}, {"aux", "mlp"}}},
      {"overlapping_furthest",
       {{"variant", "overlapping"}, {"combine", "furthest"}, {"aux", "block"}}},
      {"three_by_one", {{"window", "3"}, {"stride", "1"}}},
      {"three_by_one_furthest", {{"window", "3"}, {"stride", "1"}, {"combine", "furthest"}}},
      {"three_by_two", {{"window", "3"}, {"stride", "2"}, {"aux", "block"}}},
      {"ppll", {{"variant", "ppll"}}},
      {"ppll_chunks", {{"variant", "ppll"}, {"window", "2"}, {"capacity", "1"}}},
  };
}

inline Schedule local_schedule(const LocalCase& local, std::int32_t actors,
                               std::int32_t microbatches) {
  return generate("local",
                  {.actors = actors, .microbatches = microbatches, .option = local.option});
}

// A layer for each of four stages; nothing tied where stages update at different times.
inline Model local_model(const Schedule& schedule, Model model) {
  model = testing::text_model(model);
  model.layers = 4;
  if (updates_inside(schedule)) model.tied_embeddings = false;
  return model;
}

// First and last stage of each window, by the rule as it is written.
inline std::vector<std::pair<std::int32_t, std::int32_t>> windows_of(const Learning& learning,
                                                                     std::int32_t length) {
  std::vector<std::pair<std::int32_t, std::int32_t>> windows;
  for (std::int32_t first = 0; windows.empty() || windows.back().second < length - 1;
       first += learning.stride) {
    windows.push_back({first, std::min(first + learning.window, length) - 1});
  }
  return windows;
}

// A stage's tensors: those of its auxiliary head, or all others.
struct TensorSet {
  std::int32_t stage = 0;
  bool of_head = false;
  bool holds(const ParameterView& view) const { return view.name.starts_with("aux.") == of_head; }
};

// Moves the values of a set along a direction before the first step, and takes its gradient.
class SlopeDevice final : public ForwardingDevice {
 public:
  struct Move {
    TensorSet set;
    double step = 0;
    std::vector<float>* gradient = nullptr;  // out; and the direction, if there is one yet
  };

  SlopeDevice(std::unique_ptr<Device> device, Move move)
      : ForwardingDevice(std::move(device)), move_(move) {
    if (move_.step == 0) return;
    std::size_t at = 0;
    double norm = 0;
    for (const float g : *move_.gradient) norm += static_cast<double>(g) * static_cast<double>(g);
    for (const ParameterView& view : device_->parameters(move_.set.stage)) {
      if (!move_.set.holds(view)) continue;
      for (const float& value : view.values) {  // a test may: the device's own are not const
        const double along = static_cast<double>((*move_.gradient)[at++]) / std::sqrt(norm);
        const_cast<float&>(value) += static_cast<float>(move_.step * along);
      }
    }
  }

  void update(std::int32_t stage, std::int64_t step, double rate, double scale) override {
    if (stage == move_.set.stage && move_.step == 0) take();
    ForwardingDevice::update(stage, step, rate, scale);
  }

 private:
  // Gradients lie as the tensors do, each from a multiple of 16 on.
  void take() {
    const std::span<const float> all = device_->gradients(move_.set.stage);
    std::size_t at = 0;
    for (const ParameterView& view : device_->parameters(move_.set.stage)) {
      const auto one = all.subspan(at, view.values.size());
      if (move_.set.holds(view)) {
        move_.gradient->insert(move_.gradient->end(), one.begin(), one.end());
      }
      at += (view.values.size() + 15) / 16 * 16;
    }
  }

  Move move_;
};

inline std::vector<double> losses_with(const RunPlan& plan, const SlopeDevice::Move& move) {
  const RunResult result = run_in_process(plan, [&](const RunPlan& p, std::int32_t actor) {
    return std::make_unique<SlopeDevice>(make_cpu_device(p, actor), move);
  });
  return result.steps[0].window_losses;
}

// Along its own gradient the losses that a set learns from rise by the gradient's length.
inline void expect_slopes(Model model, const Schedule& schedule) {
  model.layers = 4;
  const Learning& learning = schedule.pipeline.learning;
  const RunPlan plan = training_plan(model, on_one_actor(schedule), even_split(model, 4), 1);
  const auto windows = windows_of(learning, 4);
  for (std::int32_t stage = 0; stage < 4; ++stage) {
    for (const bool of_head : {false, true}) {
      const TensorSet set{stage, of_head};
      std::vector<float> gradient;
      losses_with(plan, {.set = set, .gradient = &gradient});
      if (gradient.empty()) continue;  // no head
      SCOPED_TRACE(fmt::format("{} of stage {}", of_head ? "head" : "layers", stage));
      constexpr double kStep = 1e-3;
      const auto up = losses_with(plan, {.set = set, .step = kStep, .gradient = &gradient});
      const auto down = losses_with(plan, {.set = set, .step = -kStep, .gradient = &gradient});
      double slope = 0;
      for (std::size_t w = 0; w < windows.size(); ++w) {
        const auto [first, last] = windows[w];
        const bool furthest =
            w + 1 == windows.size() || windows[w + 1].first > stage;  // of those that hold it
        const bool learns = of_head ? last == stage : learning.combine == Combine::Sum || furthest;
        if (first <= stage && stage <= last && learns) slope += (up[w] - down[w]) / (2 * kStep);
      }
      double length = 0;
      for (const float g : gradient) length += static_cast<double>(g) * static_cast<double>(g);
      EXPECT_NEAR(slope, std::sqrt(length), 5e-3 * std::sqrt(length));
    }
  }
}

}  // namespace penstock
