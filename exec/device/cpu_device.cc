#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "data/tokens.h"
#include "device/cpu_stage.h"
#include "device/device.h"
#include "model/gemm.h"
#include "penstock/error.h"

namespace penstock {

namespace {

// Sequences of each microbatch. A pipeline that does not say (all equal) gets equal shares of the
// batch.
std::vector<std::int32_t> sequences_of(const RunPlan& plan) {
  std::vector<std::int32_t> sequences;
  for (const Microbatch& microbatch : plan.program.schedule.pipeline.microbatches) {
    sequences.push_back(microbatch.sequences);
    if (microbatch.slices() > 1) {
      throw Error("schedule", "token slices cannot be trained", "choose a schedule without slices");
    }
  }
  const std::int32_t sum = std::accumulate(sequences.begin(), sequences.end(), 0);
  if (sum <= 0 || plan.batch.global % sum != 0) {
    throw Error("batch.global",
                fmt::format("{} sequences cannot be shared out to {} microbatches",
                            plan.batch.global, sequences.size()),
                "batch.global = batch.micro times the schedule's microbatches");
  }
  for (std::int32_t& each : sequences) each *= plan.batch.global / sum;
  return sequences;
}

void check_model(const RunPlan& plan) {
  const Model& model = *plan.model;
  if (model.positions == Positions::Learned && plan.batch.sequence > model.max_positions) {
    throw Error("batch.sequence",
                fmt::format("{} tokens, the model has {} positions", plan.batch.sequence,
                            model.max_positions),
                "shorten batch.sequence");
  }
}

// The first stage of every route looks tokens up and the last one has the loss.
void check_ends(const RunPlan& plan) {
  const Pipeline& pipeline = plan.program.schedule.pipeline;
  const std::vector<std::int32_t>& first = plan.split.first;
  const auto part_of = [&](std::int32_t stage) {
    return static_cast<std::size_t>(pipeline.stages[static_cast<std::size_t>(stage)].part);
  };
  for (const Route& route : pipeline.routes) {
    const std::size_t begin = part_of(route.front());
    const std::size_t end = part_of(route.back());
    const bool embeds = first[begin] == 0 && first[begin + 1] > 0;
    const bool ends = first[end] < first[end + 1] && first[end + 1] == plan.model->layers + 2;
    if (embeds && ends) continue;
    throw Error("schedule.layout",
                fmt::format("stage {} does not hold the {}", embeds ? route.back() : route.front(),
                            embeds ? "loss" : "embedding"),
                "put E into the first and L into the last stage");
  }
}

StageSizes make_sizes(const RunPlan& plan, std::span<const std::int32_t> sequences) {
  StageSizes sizes{.tokens = plan.batch.sequence, .rows = {}};
  for (const std::int32_t each : sequences) sizes.rows.push_back(each * plan.batch.sequence);
  const auto tokens = std::int64_t{plan.batch.global} * plan.batch.sequence;
  sizes.gradient_scale = static_cast<float>(1.0 / static_cast<double>(tokens));
  return sizes;
}

std::vector<Op> ops_of_stage(const Program& program, std::int32_t stage) {
  std::vector<Op> ops;
  for (const Compute& compute : program.computes) {
    if (compute.op.stage == stage) ops.push_back(compute.op);
  }
  return ops;
}

// The tokens of one step, for the first stage (ids) and the last (targets).
class StepTokens {
 public:
  StepTokens(const RunPlan& plan, std::span<const int> rows)
      : windows_(open_tokens(plan.train), plan.batch.sequence),
        global_(plan.batch.global),
        sequence_(static_cast<std::size_t>(plan.batch.sequence)),
        window_(sequence_ + 1) {
    const auto used = std::int64_t{plan.train.steps} * global_;
    windows_.check(std::max(used, std::int64_t{global_}), plan.model->vocabulary);
    for (const int count : rows) {
      first_.push_back(ids_.size());
      ids_.resize(ids_.size() + static_cast<std::size_t>(count));
    }
    first_.push_back(ids_.size());
    targets_.resize(ids_.size());
  }

  void pick(std::int64_t step) {
    for (std::int32_t sample = 0; sample < global_; ++sample) {
      windows_.read(windows_.index(step, global_, sample), window_);
      const auto place = static_cast<std::ptrdiff_t>(sequence_) * sample;
      std::copy(window_.begin(), window_.end() - 1, ids_.begin() + place);
      std::copy(window_.begin() + 1, window_.end(), targets_.begin() + place);
    }
  }

  TokenRows of(std::int32_t microbatch) const {
    const auto index = static_cast<std::size_t>(microbatch);
    const std::size_t count = first_[index + 1] - first_[index];
    return {.ids = std::span(ids_).subspan(first_[index], count),
            .targets = std::span(targets_).subspan(first_[index], count)};
  }

 private:
  Windows windows_;
  std::int32_t global_;
  std::size_t sequence_;
  std::vector<std::int32_t> window_;
  std::vector<std::size_t> first_;  // [microbatch]: its first row
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> targets_;
};

class CpuDevice final : public Device {
 public:
  CpuDevice(const RunPlan& plan, std::int32_t actor)
      : pipeline_(plan.program.schedule.pipeline), optimizer_(plan.train.optimizer) {
    use_one_blas_thread();
    check_model(plan);
    check_ends(plan);
    const StageSizes sizes = make_sizes(plan, sequences_of(plan));
    boundary_ = std::int64_t{sizes.max_rows()} * plan.model->hidden;
    const auto& stages = plan.program.schedule.pipeline.stages;
    stages_.resize(stages.size());
    bool needs_tokens = false;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].actor != actor) continue;
      const auto part = static_cast<std::size_t>(stages[i].part);
      const BlockRange blocks{plan.split.first[part], plan.split.first[part + 1]};
      stages_[i] = std::make_unique<CpuStage>(
          *plan.model, blocks, sizes, ops_of_stage(plan.program, static_cast<std::int32_t>(i)),
          plan.train.seed);
      needs_tokens |= blocks.first == 0 || blocks.end == plan.model->layers + 2;
    }
    if (needs_tokens) tokens_.emplace(plan, sizes.rows);
  }

  std::int64_t boundary_floats(std::int32_t stage) const override {
    return at(stage).is_last() ? 0 : boundary_;
  }
  std::int64_t activation_bytes(std::int32_t stage) const override {
    return at(stage).activation_bytes();
  }
  std::int64_t weight_bytes(std::int32_t stage) const override { return at(stage).weight_bytes(); }

  void begin_step(std::int64_t step) override {
    for (const auto& stage : stages_) {
      if (stage) stage->begin_step();
    }
    if (tokens_) tokens_->pick(step);
  }

  void run(const Op& op, std::span<const float> input, std::span<float> output) override {
    at(op.stage).run(op, tokens_ ? tokens_->of(op.microbatch) : TokenRows{}, input, output);
  }

  double loss_sum(std::int32_t microbatch) const override {
    const auto& last = stages_[static_cast<std::size_t>(last_stage(microbatch))];
    return last ? last->loss_sum(microbatch) : 0;
  }

  std::span<float> shared_gradient(std::int32_t stage) override {
    return at(stage).shared_gradient();
  }
  std::span<float> gradients(std::int32_t stage) override { return at(stage).gradients(); }
  std::vector<TensorNorm> squared_norms(std::int32_t stage) const override {
    return at(stage).squared_norms();
  }
  void update(std::int32_t stage, std::int64_t step, double learning_rate,
              double gradient_scale) override {
    at(stage).update(
        optimizer_,
        {.step = step, .learning_rate = learning_rate, .gradient_scale = gradient_scale});
  }
  std::vector<ParameterView> parameters(std::int32_t stage) const override {
    return at(stage).parameters();
  }

  void save() override {
    for (const auto& stage : stages_) {
      if (stage) stage->save();
    }
  }
  void restore() override {
    for (const auto& stage : stages_) {
      if (stage) stage->restore();
    }
  }

 private:
  CpuStage& at(std::int32_t stage) const { return *stages_[static_cast<std::size_t>(stage)]; }
  std::int32_t last_stage(std::int32_t microbatch) const {
    const auto route = pipeline_.microbatches[static_cast<std::size_t>(microbatch)].route;
    return pipeline_.routes[static_cast<std::size_t>(route)].back();
  }

  const Pipeline& pipeline_;
  Optimizer optimizer_;
  std::int64_t boundary_ = 0;
  std::vector<std::unique_ptr<CpuStage>> stages_;  // [stage]; null: another actor's
  std::optional<StepTokens> tokens_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const RunPlan& plan, std::int32_t actor) {
  return std::make_unique<CpuDevice>(plan, actor);
}

}  // namespace penstock
