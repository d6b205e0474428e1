#include "estimate/block_cost.h"

#include <algorithm>
#include <utility>

#include "estimate/compute_time.h"
#include "estimate/exchange.h"
#include "models/matrices.h"
#include "models/saved.h"
#include "penstock/index.h"

namespace penstock {
namespace {

// How often unfused scores cross the memory: written, read and written by the softmax, read; in the
// backward the probabilities are read once more.
constexpr double kScoresForward = 4;
constexpr double kScoresBackward = 5;
constexpr double kResiduals = 2;  // sums of two tensors into a third, by layer

constexpr std::pair<OpKind, Pass> kPasses[] = {{OpKind::Forward, Pass::Forward},
                                               {OpKind::BackwardInput, Pass::InputGradient},
                                               {OpKind::BackwardWeight, Pass::WeightGradient}};

bool is_attention(ProductUse use) {
  return use == ProductUse::Scores || use == ProductUse::Values;
}

bool is_of_experts(ProductUse use) {
  return use == ProductUse::ExpertUp || use == ProductUse::ExpertDown;
}

class BlockCost {
 public:
  BlockCost(const EstimateInput& input, std::int32_t block, const TokenRange& range)
      : input_(input),
        model_(*input.model),
        block_(block),
        range_(range),
        time_(input),
        is_flash_(input.choice.attention == AttentionKernel::Flash) {}

  void products() {
    for (const auto& [kind, pass] : kPasses) {
      CostParts& parts = parts_[index(kind)];
      for (const MatrixProduct& product : list(pass)) {
        if (is_attention(product.use)) continue;
        const double factor = is_of_experts(product.use) ? input_.assumptions.expert_imbalance : 1;
        parts[CostPart::Products] += factor * time_.product(product);
        parts[CostPart::Launches] += time_.launches(1);
      }
    }
  }

  void attention() {
    core_ = attention_of(flops_of(list(Pass::Forward)), kScoresForward, 1);
    double backward = flops_of(list(Pass::InputGradient));
    if (is_flash_) {
      backward += flops(flash_remade_products(model_, block_, range_, input_.parallel, pairs()));
    }
    parts_[index(OpKind::Forward)] += core_;
    parts_[index(OpKind::BackwardInput)] += attention_of(backward, kScoresBackward, 2);
  }

  // Norms, activations, residual sums, as the tensors that they leave tell.
  void memory() {
    double bytes = 0;
    double kernels = 0;
    for (const Saved& saved :
         saved_tensors(model_, block_, range_, input_.parallel, input_.choice)) {
      if (saved.is_core) continue;
      bytes += static_cast<double>(saved.bytes);
      kernels += saved.for_weight ? 0 : 1;
    }
    const bool is_layer = block_ > 0 && block_ < model_.head_block();
    const double sums = is_layer ? 3 * kResiduals * hidden_bytes() : 0;
    kernels += is_layer ? kResiduals : 0;
    add_memory(OpKind::Forward, bytes + sums, kernels);
    add_memory(OpKind::BackwardInput, 2 * (bytes + sums), kernels);
  }

  // A row read and written per token; in the backward a gradient added to a row.
  void lookup() {
    const auto value = static_cast<double>(value_bytes(input_.choice.precision));
    const double values = hidden_bytes() / value;
    add_memory(OpKind::Forward, 2 * hidden_bytes(), 1);
    add_memory(OpKind::BackwardWeight, values * (value + 2.0 * input_.choice.state.gradients), 1);
  }

  // In front of the backward, without gathering weights once more.
  void again() {
    CostParts& again = parts_[index(OpKind::Recompute)];
    const CostParts& forward = parts_[index(OpKind::Forward)];
    if (input_.choice.recompute == RecomputeChoice::Full) again = forward;
    if (input_.choice.recompute == RecomputeChoice::Selective) {
      again = core_;
      again[CostPart::Context] = forward[CostPart::Context];
    }
    again[CostPart::Data] = 0;
  }

  // What is hidden takes no time but slows down what it is hidden behind.
  void hide() {
    const Assumptions& a = input_.assumptions;
    const std::pair<CostPart, double> hidden[] = {{CostPart::Tensor, a.tensor_overlap},
                                                  {CostPart::Context, a.context_overlap},
                                                  {CostPart::Expert, a.expert_overlap},
                                                  {CostPart::Data, a.data_overlap}};
    for (CostParts& parts : parts_) {
      double room =
          parts[CostPart::Products] + parts[CostPart::Attention] + parts[CostPart::Memory];
      for (const auto& [part, share] : hidden) {
        const double behind = std::min(share * parts[part], room);
        parts[part] += behind * (a.slow_down - 2);
        room -= behind;
      }
    }
  }

  StageParts& parts() { return parts_; }

 private:
  AttentionFlops pairs() const { return is_flash_ ? AttentionFlops::Causal : AttentionFlops::Full; }

  std::vector<MatrixProduct> list(Pass pass) const {
    return penstock::products(model_, block_, range_, input_.parallel, pass, pairs());
  }

  static double flops_of(const std::vector<MatrixProduct>& list) {
    double sum = 0;
    for (const MatrixProduct& each : list) sum += is_attention(each.use) ? each.flops() : 0;
    return sum;
  }

  CostParts attention_of(double flops, double crossings, double kernels) const {
    CostParts parts;
    parts[CostPart::Attention] = time_.attention(flops);
    parts[CostPart::Launches] = time_.launches(is_flash_ ? kernels : crossings);
    if (is_flash_) return parts;
    const HeadShapes heads = head_shapes(model_, input_.parallel);
    const auto scores =
        static_cast<double>(tokens_in(range_, input_.parallel) * heads.queries *
                            (range_.first + range_.tokens) * value_bytes(input_.choice.precision));
    parts[CostPart::Memory] = time_.memory(crossings * scores);
    return parts;
  }

  double hidden_bytes() const {
    return static_cast<double>(tokens_between(range_, input_.parallel) * model_.hidden *
                               value_bytes(input_.choice.precision));
  }

  void add_memory(OpKind kind, double bytes, double kernels) {
    parts_[index(kind)][CostPart::Memory] += time_.memory(bytes);
    parts_[index(kind)][CostPart::Launches] += time_.launches(kernels);
  }

  const EstimateInput& input_;
  const Model& model_;
  const std::int32_t block_;
  const TokenRange& range_;
  const ComputeTime time_;
  const bool is_flash_;
  StageParts parts_ = {};
  CostParts core_;  // attention, forward
};

}  // namespace

StageParts block_cost(const EstimateInput& input, const Groups& groups, std::int32_t block,
                      const TokenRange& range) {
  const bool is_layer = block > 0 && block < input.model->head_block();
  BlockCost cost(input, block, range);
  cost.products();
  if (is_layer) cost.attention();
  cost.memory();
  if (block == 0) cost.lookup();
  add_exchanges(input, groups, block, range, cost.parts());
  if (is_layer) cost.again();
  cost.hide();
  return std::move(cost.parts());
}

}  // namespace penstock
