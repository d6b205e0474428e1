// File: cpu_stage.h. One stage on the CPU: its part of the model, parameters and buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/slots.h"
#include "device/versions.h"
#include "model/aligned.h"
#include "model/part.h"
#include "optimizer/adamw.h"
#include "units.h"
#include "windows.h"

namespace penstock {

// Sizes that all stages share.
struct StageSizes {
  int tokens = 0;  // per sequence
  Units units;
  std::vector<TokenSlice> slices;                     // [unit]
  float gradient_scale = 1;                           // 1 / tokens of the whole batch
  RecomputeChoice recompute = RecomputeChoice::Full;  // on stages that have an R
};

// The tokens of one slice; they stay the caller's.
struct TokenRows {
  std::span<const std::int32_t> ids;
  std::span<const std::int32_t> targets;
};

// What a stage has to do, of the model and of the losses.
struct StageWork {
  BlockRange blocks;
  StageWindows windows;
  Combine combine = Combine::Sum;
  std::optional<AuxHead> local_head;  // where a window ends that is not the route's last
};

class CpuStage {
 public:
  // `order`: this stage's ops as they run. Allocates everything that a step needs.
  CpuStage(const Model& model, const StageWork& work, const StageSizes& sizes,
           std::span<const Op> order, std::uint64_t seed, bool keeps_a_copy = false);
  CpuStage(const CpuStage&) = delete;

  void clear_gradients();
  void run(const Op& op, TokenRows tokens, std::span<const float> input, std::span<float> output);
  double loss_sum(std::size_t unit) const { return losses_[unit]; }

  std::int64_t activation_bytes() const;
  std::int64_t kept_bytes() const;
  std::int64_t weight_bytes() const;
  std::span<float> shared_gradient();
  std::span<float> gradients() { return parameters_.gradients(); }
  std::vector<TensorNorm> squared_norms() const;
  // With updates inside the order: the next one of the step.
  void update(const Optimizer& optimizer, const AdamwStep& step);
  std::vector<ParameterView> parameters() const;
  void reset_optimizer();
  void keep();  // REQUIRES: keeps_a_copy
  void roll_back();

 private:
  // Buffers for one slice in flight.
  struct Activations {
    AlignedVector<float> buffer;
    PartKept<float> layout;  // of this buffer and, with recomputation, one of remade_
  };
  struct OutputGradients {
    AlignedVector<float> buffer;
    std::vector<PartGradients<float>> layouts;  // of each window whose gradient I works out
  };
  struct Copy {
    AlignedVector<float> values, first_moments, second_moments;
  };

  void forward(const Op& op, TokenRows tokens, std::span<const float> input,
               std::span<float> output);
  void recompute(const Op& op);
  void backward_input(const Op& op, std::span<const float> input, std::span<float> output);
  void backward_weight(const Op& op, std::span<const float> input);
  void pass_back(std::size_t unit, std::int32_t window, const PartGradients<float>& gradients,
                 std::span<const float> input, std::span<float> output);
  void add_weight_gradient(std::size_t unit, std::int32_t window,
                           const PartGradients<float>& gradients);
  bool is_own_loss(std::int32_t window) const { return work_.windows.has_loss && window == 0; }
  bool learns_from(std::int32_t window) const;
  Activations& activations(std::size_t unit);
  void carve(std::size_t unit, std::int32_t remade);
  std::int64_t bytes_of_microbatch(bool with_remade) const;
  OutputGradients& output_gradients(std::size_t unit);
  void open_gradients(std::int32_t microbatch);
  void carve_gradients(OutputGradients& gradients, const TokenSlice& slice) const;
  template <class T>
  Matrix<T> rows_of(const TokenSlice& slice, std::span<T> values, std::int32_t number = 0) const;

  StageSizes sizes_;
  StageWork work_;
  int hidden_;
  Slots slots_;
  Versions versions_;
  Parameters<float> parameters_;
  Part<float> part_;
  AlignedVector<float> first_moments_;
  AlignedVector<float> second_moments_;
  std::vector<Activations> activations_;
  std::vector<AlignedVector<float>> remade_;
  std::vector<OutputGradients> gradients_;
  std::vector<PartInput<float>> inputs_;      // [unit], from F to its backward
  std::vector<const PartKept<float>*> kept_;  // [unit], likewise
  std::vector<const PartGradients<float>*>
      gathered_;                // [unit], from the microbatch's first backward
  std::vector<double> losses_;  // [unit]
  std::int32_t weight_gradients_left_ = 0;
  Copy copy_;  // empty, or of the sizes that it will have
};

}  // namespace penstock
