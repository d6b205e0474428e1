// File: training.h. Trains on one device without an executor: ops in order, buffers by stage.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/digest.h"
#include "optimizer/learning_rate.h"
#include "penstock/execute.h"
#include "penstock/generate.h"

namespace penstock::testing {

// All stages on actor 0, in the schedule's global order.
inline RunPlan one_actor_plan(const Model& model, const Schedule& schedule, Split split,
                              Batch batch, TrainSettings train) {
  RunPlan plan;
  plan.program = lower(on_one_actor(schedule));
  plan.model = model;
  plan.split = std::move(split);
  plan.batch = batch;
  plan.train = std::move(train);
  return plan;
}

struct Trained {
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, std::string> digests;
};

class Trainer {
 public:
  explicit Trainer(const RunPlan& plan) : plan_(plan), device_(make_cpu_device(plan, 0)) {
    const Pipeline& pipeline = plan_.program.schedule.pipeline;
    next_ = next_on_route(pipeline);
    previous_ = previous_on_route(pipeline);
  }

  Device& device() { return *device_; }

  Trained run(std::int32_t steps) {
    Trained trained;
    for (std::int32_t step = 0; step < steps; ++step) {
      device_->begin_step(step);
      device_->clear_gradients();
      for (const Compute& compute : plan_.program.computes) run(compute.op);
      trained.losses.push_back(loss());
      finish(step, trained);
    }
    for (std::int32_t stage = 0; stage < stages(); ++stage) {
      for (const ParameterView& tensor : device_->parameters(stage)) {
        trained.digests[tensor.name] = sha256(tensor.values);
      }
    }
    return trained;
  }

  double loss() const {
    const Pipeline& pipeline = plan_.program.schedule.pipeline;
    double sum = 0;
    for (std::size_t m = 0; m < pipeline.microbatches.size(); ++m) {
      const auto route = static_cast<std::size_t>(pipeline.microbatches[m].route);
      Op op{OpKind::Forward, pipeline.routes[route].back(), static_cast<std::int32_t>(m)};
      for (; op.slice < pipeline.microbatches[m].slices(); ++op.slice) {
        sum += device_->loss_sum(op);
      }
    }
    return sum / (static_cast<double>(plan_.batch.global) * plan_.batch.sequence);
  }

  // The activation or gradient between two stages of a microbatch.
  void run(const Op& op) {
    const auto stage = static_cast<std::size_t>(op.stage);
    if (op.kind == OpKind::Forward) {
      device_->run(op, view(activation_, op, previous_[stage]),
                   make(activation_, op, next_[stage] < 0 ? -1 : op.stage));
    } else if (gives_input_gradient(op.kind)) {
      device_->run(op, view(gradient_, op, next_[stage] < 0 ? -1 : op.stage),
                   make(gradient_, op, previous_[stage]));
    } else {
      device_->run(op, {}, {});
    }
  }

 private:
  // By F of the stage whose output it belongs to.
  using Boundaries = std::map<Op, std::vector<float>>;

  std::int32_t stages() const {
    return static_cast<std::int32_t>(plan_.program.schedule.pipeline.stages.size());
  }
  static Op boundary(const Op& op, std::int32_t stage) {
    return {OpKind::Forward, stage, op.microbatch, op.slice};
  }
  static std::span<const float> view(const Boundaries& all, const Op& op, std::int32_t stage) {
    if (stage < 0) return {};
    return all.at(boundary(op, stage));
  }
  std::span<float> make(Boundaries& all, const Op& op, std::int32_t stage) {
    if (stage < 0) return {};
    auto& values = all[boundary(op, stage)];
    values.assign(static_cast<std::size_t>(device_->boundary_floats(boundary(op, stage))), NAN);
    return values;
  }

  // Sums the tied gradients in stage order, clips and updates.
  void finish(std::int32_t step, Trained& trained) {
    std::vector<std::span<float>> shared;
    for (std::int32_t stage = 0; stage < stages(); ++stage) {
      if (auto gradient = device_->shared_gradient(stage); !gradient.empty()) {
        shared.push_back(gradient);
      }
    }
    for (std::size_t i = 0; shared.size() == 2 && i < shared[0].size(); ++i) {
      shared[0][i] = shared[1][i] = shared[0][i] + shared[1][i];
    }
    std::map<std::int32_t, double> squares;
    for (std::int32_t stage = 0; stage < stages(); ++stage) {
      for (const TensorNorm& norm : device_->squared_norms(stage)) {
        squares[norm.tensor] = norm.squared;
      }
    }
    double sum = 0;
    for (const auto& [tensor, square] : squares) sum += square;
    trained.norms.push_back(std::sqrt(sum));
    const Optimizer& optimizer = plan_.train.optimizer;
    const double rate = learning_rate(optimizer, step, plan_.train.steps);
    const double scale = clip_scale(trained.norms.back(), optimizer.clip);
    for (std::int32_t stage = 0; stage < stages(); ++stage) {
      device_->update(stage, step, rate, scale);
    }
  }

  RunPlan plan_;
  std::unique_ptr<Device> device_;
  std::vector<std::int32_t> next_, previous_;
  Boundaries activation_, gradient_;
};

}  // namespace penstock::testing
