#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "batch_shape.h"
#include "data/tokens.h"
#include "device/cpu_stage.h"
#include "device/device.h"
#include "model/gemm.h"
#include "penstock/error.h"
#include "penstock/index.h"

namespace penstock {

namespace {

// Why the model cannot be trained here; "" when it can.
std::string_view not_trained(const Model& model) {
  if (model.experts) return "a mixture of experts";
  if (model.latent) return "latent attention";
  if (model.mtp_depth > 0) return "multi-token prediction";
  if (model.qkv_bias) return "biases in the attention's projections";
  if (model.qk_norm) return "normed queries and keys";
  if (!model.rope_scaling.empty()) return "stretched rotary positions";
  return {};
}

void check_model(const RunPlan& plan) {
  const Model& model = *plan.model;
  if (const std::string_view what = not_trained(model); !what.empty()) {
    throw Error("model", fmt::format("training does not support {}", what),
                "trained are dense models of the gpt2, llama and mistral families; any model that "
                "is read can be simulated");
  }
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
    return index(pipeline.stages[index(stage)].part);
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

StageWork work_of(const RunPlan& plan, const std::vector<StageWindows>& windows,
                  std::size_t stage) {
  const Pipeline& pipeline = plan.program.schedule.pipeline;
  const auto part = index(pipeline.stages[stage].part);
  StageWork work{.blocks = {plan.split.first[part], plan.split.first[part + 1]},
                 .windows = windows[stage],
                 .combine = pipeline.learning.combine};
  const bool has_model_head = work.blocks.end == plan.model->layers + 2;
  if (work.windows.has_loss && !has_model_head) work.local_head = pipeline.learning.aux;
  return work;
}

// A head of its own needs something to learn from; mirrored copies of a part need the same one.
void check_window_ends(const RunPlan& plan, const std::vector<StageWindows>& windows) {
  const std::vector<Stage>& stages = plan.program.schedule.pipeline.stages;
  std::map<std::int32_t, std::size_t> first_with;  // by part
  for (std::size_t stage = 0; stage < windows.size(); ++stage) {
    const StageWork work = work_of(plan, windows, stage);
    if (work.local_head && work.blocks.first == work.blocks.end) {
      throw Error(
          "schedule.layout",
          fmt::format("a window ends with stage {}, which holds nothing of the model", stage),
          "give it a layer, or let the window end elsewhere");
    }
    const std::size_t copy = first_with.try_emplace(stages[stage].part, stage).first->second;
    if (windows[copy].has_loss == windows[stage].has_loss) continue;
    throw Error(
        "schedule",
        fmt::format("stages {} and {} are copies of one part, but a window ends with one of "
                    "them alone",
                    copy, stage),
        "routes over the same parts have the same windows");
  }
}

StageSizes make_sizes(const RunPlan& plan) {
  const auto tokens = std::int64_t{plan.batch.global} * plan.batch.sequence;
  return {.tokens = plan.batch.sequence,
          .units = Units(plan.program.schedule.pipeline),
          .slices = batch_shape(plan),
          .gradient_scale = static_cast<float>(1.0 / static_cast<double>(tokens)),
          .recompute = plan.recompute};
}

std::vector<Op> ops_of_stage(const Program& program, std::int32_t stage) {
  std::vector<Op> ops;
  for (const Compute& compute : program.computes) {
    if (compute.op.stage == stage) ops.push_back(compute.op);
  }
  return ops;
}

// The tokens of one step, for first stages (ids) and those with a loss (targets): by unit, each
// sequence by sequence.
class StepTokens {
 public:
  StepTokens(const RunPlan& plan, std::span<const TokenSlice> slices)
      : windows_(open_tokens(plan.train), plan.batch.sequence),
        global_(plan.batch.global),
        window_(index(plan.batch.sequence) + 1),
        slices_(slices.begin(), slices.end()) {
    const auto used = std::int64_t{plan.train.steps} * global_;
    windows_.check(std::max(used, std::int64_t{global_}), plan.model->vocabulary);
    for (const TokenSlice& slice : slices_) {
      row_.push_back(ids_.size());
      ids_.resize(ids_.size() + index(slice.rows()));
    }
    targets_.resize(ids_.size());
  }

  // Microbatches take consecutive samples.
  void pick(std::int64_t step) {
    std::int32_t sample = 0;
    for (std::size_t unit = 0; unit < slices_.size();) {
      std::size_t end = unit + 1;
      while (end < slices_.size() && slices_[end].first > 0) ++end;
      for (int sequence = 0; sequence < slices_[unit].sequences; ++sequence) {
        windows_.read(windows_.index(step, global_, sample++), window_);
        for (std::size_t u = unit; u < end; ++u) cut(u, sequence);
      }
      unit = end;
    }
  }

  TokenRows of(std::size_t unit) const {
    const auto count = index(slices_[unit].rows());
    return {.ids = std::span(ids_).subspan(row_[unit], count),
            .targets = std::span(targets_).subspan(row_[unit], count)};
  }

 private:
  // One slice of the window; the target is the token behind.
  void cut(std::size_t unit, int sequence) {
    const TokenSlice& slice = slices_[unit];
    const auto place = static_cast<std::ptrdiff_t>(row_[unit]) +
                       static_cast<std::ptrdiff_t>(sequence) * slice.tokens;
    const auto from = window_.begin() + slice.first;
    std::copy_n(from, slice.tokens, ids_.begin() + place);
    std::copy_n(from + 1, slice.tokens, targets_.begin() + place);
  }

  Windows windows_;
  std::int32_t global_;
  std::vector<std::int32_t> window_;
  std::vector<TokenSlice> slices_;  // [unit]
  std::vector<std::size_t> row_;    // [unit]: its first
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> targets_;
};

class CpuDevice final : public Device {
 public:
  CpuDevice(const RunPlan& plan, std::int32_t actor)
      : pipeline_(plan.program.schedule.pipeline),
        next_(next_on_route(pipeline_)),
        windows_(stage_windows(pipeline_)),
        hidden_(plan.model->hidden),
        optimizer_(plan.train.optimizer),
        sizes_(make_sizes(plan)) {
    use_one_blas_thread();
    check_model(plan);
    check_ends(plan);
    check_window_ends(plan, windows_);
    const std::vector<Stage>& stages = pipeline_.stages;
    stages_.resize(stages.size());
    bool needs_tokens = false;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].actor != actor) continue;
      const StageWork work = work_of(plan, windows_, i);
      stages_[i] = std::make_unique<CpuStage>(
          *plan.model, work, sizes_, ops_of_stage(plan.program, static_cast<std::int32_t>(i)),
          plan.train.seed, keeps_a_copy(plan.program, actor));
      needs_tokens |= work.blocks.first == 0 || work.windows.has_loss;
    }
    if (needs_tokens) tokens_.emplace(plan, sizes_.slices);
  }

  std::int64_t boundary_floats(const Op& op) const override {
    const auto stage = index(op.stage);
    const std::int64_t tensor = std::int64_t{sizes_.slices[sizes_.units.of(op)].rows()} * hidden_;
    if (op.kind == OpKind::Forward) return next_[stage] < 0 ? 0 : tensor;
    return windows_[stage].sent * tensor;
  }
  std::int64_t activation_bytes(std::int32_t stage) const override {
    return at(stage).activation_bytes();
  }
  std::int64_t kept_bytes(std::int32_t stage) const override { return at(stage).kept_bytes(); }
  std::int64_t weight_bytes(std::int32_t stage) const override { return at(stage).weight_bytes(); }

  void begin_step(std::int64_t step) override {
    if (tokens_) tokens_->pick(step);
  }
  void clear_gradients() override {
    for (const auto& stage : stages_) {
      if (stage) stage->clear_gradients();
    }
  }

  void run(const Op& op, std::span<const float> input, std::span<float> output) override {
    const TokenRows tokens = tokens_ ? tokens_->of(sizes_.units.of(op)) : TokenRows{};
    at(op.stage).run(op, tokens, input, output);
  }

  double loss_sum(const Op& op) const override {
    return at(op.stage).loss_sum(sizes_.units.of(op));
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

  void keep(std::int32_t stage) override { at(stage).keep(); }
  void roll_back(std::int32_t stage) override { at(stage).roll_back(); }

  void reset_optimizer() override {
    for (const auto& stage : stages_) {
      if (stage) stage->reset_optimizer();
    }
  }

 private:
  CpuStage& at(std::int32_t stage) const { return *stages_[index(stage)]; }

  const Pipeline& pipeline_;
  std::vector<std::int32_t> next_;
  std::vector<StageWindows> windows_;
  std::int32_t hidden_;
  Optimizer optimizer_;
  StageSizes sizes_;
  std::vector<std::unique_ptr<CpuStage>> stages_;  // [stage]; null: another actor's
  std::optional<StepTokens> tokens_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const RunPlan& plan, std::int32_t actor) {
  return std::make_unique<CpuDevice>(plan, actor);
}

}  // namespace penstock
