// File: fake_device.h. A device whose results show every mistake of the executor: sums depend on
// their order to the last bit, and inputs that change or go too early are noticed.
#pragma once

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/device.h"
#include "penstock/execute.h"
#include "units.h"
#include "windows.h"

namespace penstock {

struct FakeFaults {
  std::optional<std::int32_t> nan_microbatch;  // its loss is NaN
  std::int64_t nan_step = 0;
  std::optional<Op> throws_at;
  std::optional<Op> dies_at;  // as if killed
};

// Part s: out[i] = in[i] * w_s[i] + 0.1 u[i], u shared by the first and the last stage of a route
// when `tied`. A slice adds 0.05 of the slice's input before it. The loss is the sum of the last
// output. Where the order has updates, a backward takes the weights of its forward.
class FakeDevice final : public Device {
 public:
  FakeDevice(const RunPlan& plan, bool tied, FakeFaults faults = {})
      : pipeline_(plan.program.schedule.pipeline),
        previous_(previous_on_route(pipeline_)),
        next_(next_on_route(pipeline_)),
        windows_(stage_windows(pipeline_)),
        units_(pipeline_),
        tied_(tied),
        faults_(faults),
        tensors_(pipeline_.stages.size()),
        cells_(pipeline_.stages.size() * units_.count()),
        losses_(cells_.size()) {
    for (std::size_t s = 0; s < tensors_.size(); ++s) {
      const std::int32_t part = pipeline_.stages[s].part;
      tensors_[s].push_back(Tensor(fmt::format("part{}.weight", part), part));
      if (is_tied(static_cast<std::int32_t>(s))) {
        tensors_[s].push_back(Tensor("shared.weight", static_cast<int>(tensors_.size())));
      }
    }
    for (const Compute& compute : plan.program.computes) {
      if (compute.op.kind == OpKind::Recompute) recomputed_.insert(compute.op);
      if (compute.op.kind == OpKind::Update) updates_[compute.op.stage].push_back(compute.op);
    }
    gradients_.resize(tensors_.size());
    for (std::size_t s = 0; s < tensors_.size(); ++s) {
      gradients_[s].resize(tensors_[s].size() * kWidth);
    }
  }

  std::int64_t boundary_floats(const Op& op) const override {
    const auto stage = static_cast<std::size_t>(op.stage);
    if (op.kind == OpKind::Forward) return next_[stage] < 0 ? 0 : kWidth;
    return windows_[stage].sent * kWidth;
  }
  std::int64_t activation_bytes(std::int32_t) const override { return kWidth * 4; }
  std::int64_t kept_bytes(std::int32_t) const override { return kWidth; }
  std::int64_t weight_bytes(std::int32_t) const override { return kWidth * 12; }

  void begin_step(std::int64_t step) override { step_ = step; }

  void clear_gradients() override {
    for (auto& stage : gradients_) std::fill(stage.begin(), stage.end(), 0.0F);
  }

  void run(const Op& op, std::span<const float> input, std::span<float> output) override {
    if (faults_.throws_at == op) throw std::runtime_error("out of memory");
    if (faults_.dies_at == op) std::raise(SIGKILL);
    Cell& cell = cell_of(op, op.slice);
    switch (op.kind) {
      case OpKind::Forward:
        return forward(op, cell, input, output);
      case OpKind::Backward:
        backward_input(op, cell, input, output);
        return backward_weight(op, cell, input);
      case OpKind::BackwardInput:
        return backward_input(op, cell, input, output);
      case OpKind::BackwardWeight:
        return backward_weight(op, cell, input);
      case OpKind::Recompute:
        return recompute(op, cell);
      case OpKind::Update:
        throw std::logic_error("an update is not run: " + to_string(op));
    }
  }

  double loss_sum(const Op& op) const override {
    require(windows_[static_cast<std::size_t>(op.stage)].has_loss, op, "it has no loss");
    return losses_[cell_number(op, op.slice)];
  }

  std::span<float> shared_gradient(std::int32_t stage) override {
    if (!is_tied(stage)) return {};
    return gradient(stage, 1);
  }

  std::span<float> gradients(std::int32_t stage) override {
    return gradients_[static_cast<std::size_t>(stage)];
  }

  std::vector<TensorNorm> squared_norms(std::int32_t stage) const override {
    std::vector<TensorNorm> norms;
    const auto& tensors = tensors_[static_cast<std::size_t>(stage)];
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      double squared = 0;
      for (const float g : gradient(stage, t)) squared += static_cast<double>(g) * g;
      norms.push_back({tensors[t].id, squared});
    }
    return norms;
  }

  void update(std::int32_t stage, std::int64_t, double learning_rate,
              double gradient_scale) override {
    take_gathered(stage);
    auto& tensors = tensors_[static_cast<std::size_t>(stage)];
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const std::span<const float> g = gradient(stage, t);
      for (std::size_t i = 0; i < kWidth; ++i) {
        tensors[t].value[i] -= static_cast<float>(learning_rate * gradient_scale) * g[i];
      }
    }
  }

  std::vector<ParameterView> parameters(std::int32_t stage) const override {
    std::vector<ParameterView> views;
    for (const Tensor& tensor : tensors_[static_cast<std::size_t>(stage)]) {
      views.push_back({.name = tensor.name, .shape = {kWidth, 1}, .values = tensor.value});
    }
    return views;
  }

  void reset_optimizer() override {}
  void keep(std::int32_t stage) override {
    copy_.resize(tensors_.size());
    copy_[static_cast<std::size_t>(stage)] = tensors_[static_cast<std::size_t>(stage)];
  }
  void roll_back(std::int32_t stage) override {
    tensors_[static_cast<std::size_t>(stage)] = copy_.at(static_cast<std::size_t>(stage));
  }

 private:
  static constexpr std::int64_t kWidth = 37;

  struct Tensor {
    Tensor(std::string tensor_name, int tensor_id)
        : name(std::move(tensor_name)), id(tensor_id), value(kWidth) {
      for (std::size_t i = 0; i < kWidth; ++i) {
        value[i] =
            0.9F + 0.01F * static_cast<float>((i * 7 + static_cast<std::size_t>(id) * 3) % 20);
      }
    }
    std::string name;
    std::int32_t id;
    std::vector<float> value;
  };

  // The gradient of one slice.
  struct Gathered {
    Op op;
    std::vector<float> gradient;
  };

  struct Cell {
    std::vector<float> weight;     // that F read
    std::span<const float> input;  // must stay as it is until B or W
    std::vector<float> copy;       // what it was at F
    // Of the output, by window: of those that the input gradient takes.
    std::vector<std::vector<float>> gradients;
    std::vector<float> later;  // what the next slice's backward adds to that of the input
    bool is_remade = false;    // since F, where there is an R
  };

  // What the stage's next update applies of what has gathered since the last one.
  void take_gathered(std::int32_t stage) {
    const auto updates = updates_.find(stage);
    if (updates == updates_.end()) return;
    const std::size_t number = updated_[stage]++ % updates->second.size();
    const std::int32_t last = updates->second[number].microbatch;
    std::span<float> sum = gradients(stage);
    std::fill(sum.begin(), sum.end(), 0.0F);
    std::erase_if(gathered_[stage], [&](const Gathered& gathered) {
      if (gathered.op.microbatch > last) return false;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gathered.gradient[i];
      return true;
    });
  }

  // Of the stage's tensor number `t`.
  std::span<float> gradient(std::int32_t stage, std::size_t t) {
    return gradients(stage).subspan(t * kWidth, kWidth);
  }
  std::span<const float> gradient(std::int32_t stage, std::size_t t) const {
    return std::span(gradients_[static_cast<std::size_t>(stage)]).subspan(t * kWidth, kWidth);
  }

  std::size_t cell_number(const Op& op, std::int32_t slice) const {
    return static_cast<std::size_t>(op.stage) * units_.count() + units_.of(op.microbatch, slice);
  }
  Cell& cell_of(const Op& op, std::int32_t slice) { return cells_[cell_number(op, slice)]; }

  bool is_tied(std::int32_t stage) const {
    const auto s = static_cast<std::size_t>(stage);
    return tied_ && (previous_[s] < 0 || next_[s] < 0);
  }

  void recompute(const Op& op, Cell& cell) {
    require_input(op, cell);
    cell.is_remade = true;
  }

  void require_input(const Op& op, const Cell& cell) const {
    require(std::equal(cell.copy.begin(), cell.copy.end(), cell.input.begin(), cell.input.end()),
            op, "the input of its F has changed");
  }

  void forward(const Op& op, Cell& cell, std::span<const float> input, std::span<float> output) {
    const auto stage = static_cast<std::size_t>(op.stage);
    if (previous_[stage] < 0) {
      cell.copy.resize(kWidth);
      for (std::size_t i = 0; i < kWidth; ++i) {
        const auto token = static_cast<float>(
            (step_ * 31 + op.microbatch * 17 + op.slice * 7 + static_cast<int>(i) * 5) % 97);
        cell.copy[i] = (token - 48.0F) * 0.013F;
      }
      cell.input = cell.copy;
    } else {
      require(input.size() == kWidth, op, "its input has another size");
      cell.input = input;
      cell.copy.assign(input.begin(), input.end());
    }
    cell.later.assign(kWidth, 0.0F);
    cell.weight = tensors_[stage][0].value;
    cell.is_remade =
        !recomputed_.contains(Op{OpKind::Recompute, op.stage, op.microbatch, op.slice});
    const Cell* earlier = op.slice > 0 ? &cell_of(op, op.slice - 1) : nullptr;
    double loss = 0;
    for (std::size_t i = 0; i < kWidth; ++i) {
      const float bias = is_tied(op.stage) ? 0.1F * tensors_[stage][1].value[i] : 0.0F;
      const float cache = earlier == nullptr ? 0.0F : 0.05F * earlier->input[i];
      const float out = cell.input[i] * tensors_[stage][0].value[i] + bias + cache;
      if (!output.empty()) output[i] = out;
      loss += out;
    }
    if (windows_[stage].has_loss) {
      const bool bad = faults_.nan_microbatch == op.microbatch && faults_.nan_step == step_;
      losses_[cell_number(op, op.slice)] = bad ? std::numeric_limits<double>::quiet_NaN() : loss;
    }
  }

  // Of the window's loss, made here or received.
  std::vector<float> gradient_of(const Op& op, std::int32_t window, std::span<const float> input) {
    const StageWindows& windows = windows_[static_cast<std::size_t>(op.stage)];
    if (windows.has_loss && window == 0) {
      const auto inner = static_cast<float>(next_[static_cast<std::size_t>(op.stage)] < 0 ? 0 : 1);
      return std::vector<float>(kWidth, 1.0F / (static_cast<float>(3 + op.microbatch) + inner));
    }
    require(static_cast<std::int64_t>(input.size()) == windows.received * kWidth, op,
            "its gradients have another size");
    const std::int32_t number = window - (windows.has_loss ? 1 : 0);
    const auto part = input.subspan(static_cast<std::size_t>(number) * kWidth, kWidth);
    return {part.begin(), part.end()};
  }

  void backward_input(const Op& op, Cell& cell, std::span<const float> input,
                      std::span<float> output) {
    const StageWindows& windows = windows_[static_cast<std::size_t>(op.stage)];
    require(cell.is_remade, op, "its activation was not made again");
    require(static_cast<std::int64_t>(output.size()) == windows.sent * kWidth, op,
            "its output has another size");
    cell.gradients.clear();
    for (std::int32_t window = 0; window < windows.count_of_input_gradient(); ++window) {
      cell.gradients.push_back(gradient_of(op, window, input));
    }
    for (std::size_t i = 0; i < output.size(); ++i) {
      const std::vector<float>& gradient = cell.gradients[i / kWidth];
      output[i] = gradient[i % kWidth] * cell.weight[i % kWidth] + cell.later[i % kWidth];
    }
    if (op.slice == 0) return;
    for (std::size_t i = 0; i < kWidth; ++i) {
      cell_of(op, op.slice - 1).later[i] += 0.05F * cell.gradients[0][i];
    }
  }

  void backward_weight(const Op& op, Cell& cell, std::span<const float> input) {
    require_input(op, cell);
    const StageWindows& windows = windows_[static_cast<std::size_t>(op.stage)];
    std::vector<float> sum(gradients(op.stage).size(), 0.0F);
    for (std::int32_t window = 0; window < windows.count(); ++window) {
      const bool is_last = window + 1 == windows.count();
      if (pipeline_.learning.combine == Combine::Furthest && !is_last) continue;
      const std::vector<float> gradient = window < windows.count_of_input_gradient()
                                              ? cell.gradients[static_cast<std::size_t>(window)]
                                              : gradient_of(op, window, input);
      for (std::size_t i = 0; i < kWidth; ++i) {
        sum[i] += gradient[i] * cell.input[i];
        if (is_tied(op.stage)) sum[kWidth + i] += 0.1F * gradient[i];
      }
    }
    if (updates_.contains(op.stage)) {
      gathered_[op.stage].push_back({op, std::move(sum)});
      return;
    }
    const std::span<float> all = gradients(op.stage);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += sum[i];
  }

  static void require(bool holds, const Op& op, const char* what) {
    if (!holds) throw std::logic_error(fmt::format("{}: {}", to_string(op), what));
  }

  const Pipeline& pipeline_;
  std::vector<std::int32_t> previous_;
  std::vector<std::int32_t> next_;
  std::vector<StageWindows> windows_;
  Units units_;
  bool tied_;
  FakeFaults faults_;
  std::set<Op> recomputed_;
  std::map<std::int32_t, std::vector<Op>> updates_;  // by stage, inside the order
  std::map<std::int32_t, std::size_t> updated_;      // by stage
  std::map<std::int32_t, std::vector<Gathered>> gathered_;
  std::int64_t step_ = 0;
  std::vector<std::vector<Tensor>> tensors_;  // by stage
  std::vector<std::vector<Tensor>> copy_;
  std::vector<std::vector<float>> gradients_;  // by stage
  std::vector<Cell> cells_;
  std::vector<double> losses_;
};

}  // namespace penstock
