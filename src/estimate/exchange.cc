#include "estimate/exchange.h"

#include <cmath>

#include "models/matrices.h"
#include "penstock/index.h"

namespace penstock {
namespace {

class Exchanges {
 public:
  Exchanges(const EstimateInput& input, const Groups& groups, const TokenRange& range,
            StageParts& parts)
      : model_(*input.model),
        input_(input),
        groups_(groups),
        range_(range),
        parts_(parts),
        value_(value_bytes(input.choice.precision)),
        hidden_(tokens_in(range, input.parallel) * model_.hidden * value_) {}

  // Each device has looked up its share of the vocabulary.
  void embedding() {
    add(OpKind::Forward, CostPart::Tensor, summed(groups_.tensor, hidden_));
    if (input_.parallel.sequence) add(OpKind::BackwardWeight, CostPart::Tensor, gathered());
  }

  // Attention and what follows it.
  void layer(bool has_experts) {
    matrix_pair(groups_.tensor, hidden_);
    keys_and_values();
    if (!has_experts) return matrix_pair(groups_.tensor, hidden_);
    if (model_.experts->shared_ffn > 0) matrix_pair(groups_.tensor, hidden_);
    experts();
  }

  // Hidden state and embedding come in, half of the columns each go out.
  void prediction() {
    add(OpKind::Forward, CostPart::Tensor, gathered());
    add(OpKind::BackwardInput, CostPart::Tensor, scattered());
  }

  // The softmax needs the largest logit, the sum and the label's logit of each token.
  void head() {
    const std::int64_t numbers = tokens_in(range_, input_.parallel) * 4;
    const double losses = 1 + model_.mtp_depth;
    double forward = 3 * of(groups_.tensor, Collective::AllReduce, numbers);
    if (input_.parallel.sequence) {
      forward += gathered();
      add(OpKind::BackwardWeight, CostPart::Tensor, losses * gathered());
    }
    add(OpKind::Forward, CostPart::Tensor, losses * forward);
    add(OpKind::BackwardInput, CostPart::Tensor, losses * summed(groups_.tensor, hidden_));
  }

  // The block's weights, whole for as long as it runs.
  void weights(const TrainedValues& values) {
    if (input_.parallel.zero < 3) return;
    const std::int64_t bytes = input_.choice.state.weights;
    const double time = of(groups_.replicas, Collective::AllGather, values.dense * bytes) +
                        of(groups_.expert_replicas, Collective::AllGather, values.experts * bytes);
    add(OpKind::Forward, CostPart::Data, time);
    add(OpKind::BackwardInput, CostPart::Data, time);
  }

 private:
  double of(const Group& group, Collective collective, std::int64_t bytes) const {
    if (group.devices.size() == 1 || bytes == 0) return 0;
    return static_cast<double>(collective_cost(*input_.cluster, group, collective, bytes).time);
  }

  double gathered() const { return of(groups_.tensor, Collective::AllGather, hidden_); }
  double scattered() const { return of(groups_.tensor, Collective::ReduceScatter, hidden_); }

  // The partial sums behind a matrix that is cut by rows.
  double summed(const Group& group, std::int64_t bytes) const {
    return of(group, input_.parallel.sequence ? Collective::ReduceScatter : Collective::AllReduce,
              bytes);
  }

  // Columns of one matrix, rows of the next. The backward goes the same way from behind.
  void matrix_pair(const Group& group, std::int64_t bytes) {
    double time = summed(group, bytes);
    if (input_.parallel.sequence) {
      const double gather = of(group, Collective::AllGather, bytes);
      time += gather;
      add(OpKind::BackwardWeight, CostPart::Tensor, gather);
    }
    add(OpKind::Forward, CostPart::Tensor, time);
    add(OpKind::BackwardInput, CostPart::Tensor, time);
  }

  void keys_and_values() {
    const HeadShapes heads = head_shapes(model_, input_.parallel);
    const std::int64_t bytes = range_.sequences * range_.tokens * value_ * heads.keys *
                               (heads.key_size + heads.value_size);
    const double gather = of(groups_.context, Collective::AllGather, bytes);
    add(OpKind::Forward, CostPart::Context, gather);
    add(OpKind::BackwardInput, CostPart::Context,
        gather + of(groups_.context, Collective::ReduceScatter, bytes));
  }

  void experts() {
    const double imbalance = input_.assumptions.expert_imbalance;
    const double copies = tokens_of_experts(model_, range_, input_.parallel) /
                          static_cast<double>(input_.parallel.tensor_of_experts());
    const auto bytes = static_cast<std::int64_t>(std::ceil(copies)) * model_.hidden * value_;
    const double there_and_back = 2 * imbalance * of(groups_.expert, Collective::AllToAll, bytes);
    add(OpKind::Forward, CostPart::Expert, there_and_back);
    add(OpKind::BackwardInput, CostPart::Expert, there_and_back);
    matrix_pair(groups_.expert_tensor,
                bytes * static_cast<std::int64_t>(input_.parallel.tensor_of_experts()));
  }

  void add(OpKind kind, CostPart part, double time) { parts_[index(kind)][part] += time; }

  const Model& model_;
  const EstimateInput& input_;
  const Groups& groups_;
  const TokenRange& range_;
  StageParts& parts_;
  const std::int64_t value_;
  const std::int64_t hidden_;  // bytes of the hidden states
};

}  // namespace

void add_exchanges(const EstimateInput& input, const Groups& groups, std::int32_t block,
                   const TokenRange& range, StageParts& parts) {
  const Model& model = *input.model;
  Exchanges exchanges(input, groups, range, parts);
  exchanges.weights(trained_values(model, block, input.parallel));
  if (block == 0) return exchanges.embedding();
  if (block == model.head_block()) return exchanges.head();
  if (model.is_prediction(block)) exchanges.prediction();
  exchanges.layer(model.has_experts(block));
}

}  // namespace penstock
