#include "penstock/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "estimate/block_cost.h"
#include "estimate/boundary.h"
#include "estimate/compute_time.h"
#include "estimate/step_end_cost.h"
#include "penstock/index.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, kCostParts> kPartNames = {
    "products", "attention", "memory", "launches", "tensor", "context", "expert", "data"};

// Blocks of one kind cost the same.
enum class BlockKind : std::uint8_t { Embedding, Layer, ExpertLayer, Prediction, Head };

BlockKind kind_of(const Model& model, std::int32_t block) {
  if (block == 0) return BlockKind::Embedding;
  if (block == model.head_block()) return BlockKind::Head;
  if (model.is_prediction(block)) return BlockKind::Prediction;
  return model.has_experts(block) ? BlockKind::ExpertLayer : BlockKind::Layer;
}

// Values by [microbatch][slice], as Duration and MessageCost hold them.
struct Varied {
  std::vector<std::vector<std::int64_t>> rows;
  bool microbatch_varies = false;
};

// The first value, and all of them if they differ. `Cost` is a Duration or a MessageCost.
template <typename Cost>
Cost filled(Varied values, std::int64_t Cost::*first) {
  Cost cost;
  if (values.rows.empty()) return cost;
  cost.*first = values.rows.front().front();
  if (!values.microbatch_varies && values.rows.front().size() == 1) return cost;
  cost.varied = std::move(values.rows);
  cost.microbatch_varies = values.microbatch_varies;
  return cost;
}

class Estimating {
 public:
  Estimating(const EstimateInput& input, const Schedule& schedule, const Split& split)
      : input_(input),
        pipeline_(schedule.pipeline),
        split_(split),
        groups_(groups_of_actors(input)) {
    for (const std::vector<Step>& steps : schedule.order) {
      for (const Step& step : steps) {
        splits_backward_ |= step.op.kind == OpKind::BackwardInput;
        makes_again_ |= step.op.kind == OpKind::Recompute;
      }
    }
  }

  Estimate run() {
    Estimate estimate;
    for (const Stage& stage : pipeline_.stages) {
      estimate.costs.stages.push_back(stage_costs(stage));
      estimate.stages.push_back(whole_microbatch(stage));
    }
    add_tied(estimate.costs);
    add_boundaries(input_, pipeline_, estimate.costs);
    estimate.costs.global_norm = norm_cost(input_);
    return estimate;
  }

 private:
  std::int32_t first(const Stage& stage) const { return split_.first[index(stage.part)]; }
  std::int32_t end(const Stage& stage) const { return split_.first[index(stage.part + 1)]; }

  std::int32_t sequences(const Microbatch& microbatch) const {
    return input_.sequences * microbatch.sequences;
  }

  std::vector<TokenRange> ranges(const Microbatch& microbatch) const {
    if (microbatch.slice_tokens.empty()) return {{sequences(microbatch), 0, input_.tokens}};
    std::vector<TokenRange> list;
    std::int64_t behind = 0;
    for (const std::int32_t tokens : microbatch.slice_tokens) {
      list.push_back({sequences(microbatch), behind, tokens});
      behind += tokens;
    }
    return list;
  }

  const StageParts& block_parts(std::int32_t actor, std::int32_t block, const TokenRange& range) {
    const Key key = {actor, kind_of(*input_.model, block), range.sequences, range.first,
                     range.tokens};
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_.emplace(key, block_cost(input_, groups_[index(actor)], block, range))
        .first->second;
  }

  StageParts stage_parts(const Stage& stage, const TokenRange& range) {
    StageParts sum;
    for (std::int32_t block = first(stage); block < end(stage); ++block) {
      const StageParts& parts = block_parts(stage.actor, block, range);
      for (std::size_t kind = 0; kind < sum.size(); ++kind) sum[kind] += parts[kind];
    }
    sum[index(OpKind::Backward)] = sum[index(OpKind::BackwardInput)];
    sum[index(OpKind::Backward)] += sum[index(OpKind::BackwardWeight)];
    return sum;
  }

  StageParts whole_microbatch(const Stage& stage) {
    StageParts sum;
    if (pipeline_.microbatches.empty()) return sum;
    for (const TokenRange& range : ranges(pipeline_.microbatches.front())) {
      const StageParts parts = stage_parts(stage, range);
      for (std::size_t kind = 0; kind < sum.size(); ++kind) sum[kind] += parts[kind];
    }
    return sum;
  }

  // value(range) of every slice of every microbatch; one row where all are the same.
  template <typename Value>
  Varied varied(Value value) {
    Varied varied;
    std::map<std::pair<std::int32_t, std::vector<std::int32_t>>, std::size_t> rows;  // by shape
    std::vector<std::size_t> row_of;
    std::vector<std::vector<std::int64_t>> distinct;
    for (const Microbatch& microbatch : pipeline_.microbatches) {
      const auto [row, is_new] =
          rows.try_emplace({microbatch.sequences, microbatch.slice_tokens}, distinct.size());
      row_of.push_back(row->second);
      if (!is_new) continue;
      distinct.emplace_back();
      for (const TokenRange& range : ranges(microbatch)) distinct.back().push_back(value(range));
    }
    varied.microbatch_varies = distinct.size() > 1;
    if (!varied.microbatch_varies) {
      varied.rows = std::move(distinct);
    } else {
      for (const std::size_t row : row_of) varied.rows.push_back(distinct[row]);
    }
    return varied;
  }

  Duration duration(const Stage& stage, OpKind kind) {
    Varied times = varied([&](const TokenRange& range) -> std::int64_t {
      if (kind != OpKind::Backward) {
        return std::llround(stage_parts(stage, range)[index(kind)].total());
      }
      const StageParts parts = stage_parts(stage, range);
      return std::llround(parts[index(OpKind::BackwardInput)].total()) +
             std::llround(parts[index(OpKind::BackwardWeight)].total());
    });
    return filled(std::move(times), &Duration::base);
  }

  // Bytes alone.
  MessageCost message(const Stage& stage) {
    Varied bytes = varied([&](const TokenRange& range) {
      return boundary_bytes(*input_.model, std::max(0, end(stage) - 1), range, input_.parallel,
                            input_.choice.precision, /*scatter_gather=*/input_.parallel.tensor > 1);
    });
    return filled(std::move(bytes), &MessageCost::bytes);
  }

  StageCosts stage_costs(const Stage& stage) {
    StageCosts costs;
    for (std::size_t kind = 0; kind < kPassKinds; ++kind) {
      const auto op = static_cast<OpKind>(kind);
      if (op == OpKind::Recompute && !makes_again_) continue;
      costs.op[kind] = duration(stage, op);
    }
    costs.message = message(stage);
    set_bytes(stage, costs);
    costs.reduce = reduce_cost(input_, groups_[index(stage.actor)], first(stage), end(stage));
    return costs;
  }

  // Under full recomputation the blocks are made again and gone through one after the other, so
  // that the rest of one is there at a time, unless W needs all of them later.
  void set_bytes(const Stage& stage, StageCosts& costs) {
    std::int32_t most = 0;
    for (const Microbatch& each : pipeline_.microbatches) most = std::max(most, sequences(each));
    const TokenRange range = {most, 0, input_.tokens};
    const Footprint whole = part_footprint(*input_.model, first(stage), end(stage), range,
                                           input_.parallel, input_.choice);
    std::int64_t rest = 0;
    for (std::int32_t block = first(stage); block < end(stage); ++block) {
      const Footprint own = footprint(*input_.model, block, range, input_.parallel, input_.choice);
      rest = std::max(rest, own.activations - own.kept);
    }
    costs.activation_bytes = whole.activations;
    if (makes_again_) {
      costs.kept_bytes = whole.kept;
      if (!splits_backward_) costs.activation_bytes = whole.kept + rest;
    }
    costs.left_bytes = std::min(whole.weight_pass, costs.activation_bytes);
    costs.weight_bytes = whole.state() + whole.gathered_weights;
    costs.update = update_cost(input_, whole);
  }

  void add_tied(CostTable& costs) const {
    if (!input_.model->tied_embeddings) return;
    for (const Route& route : pipeline_.routes) {
      std::int32_t embedding = -1;
      std::int32_t head = -1;
      for (const std::int32_t stage : route) {
        const Stage& one = pipeline_.stages[index(stage)];
        if (first(one) == 0 && end(one) > 0) embedding = stage;
        if (first(one) <= input_.model->head_block() && end(one) > input_.model->head_block()) {
          head = stage;
        }
      }
      if (embedding == head || embedding < 0 || head < 0) continue;
      const std::int32_t actor = pipeline_.stages[index(embedding)].actor;
      const std::int32_t other = pipeline_.stages[index(head)].actor;
      if (actor == other) continue;
      const Nanoseconds time = tied_cost(input_, actor, other);
      costs.stages[index(embedding)].reduce += time;
      costs.stages[index(head)].reduce += time;
    }
  }

  using Key = std::tuple<std::int32_t, BlockKind, std::int64_t, std::int64_t, std::int64_t>;

  const EstimateInput& input_;
  const Pipeline& pipeline_;
  const Split& split_;
  const std::vector<Groups> groups_;
  bool splits_backward_ = false;
  bool makes_again_ = false;
  std::map<Key, StageParts> known_;  // by actor, kind of block and range
};

void check_arithmetic(const EstimateInput& input, Arithmetic arithmetic, const std::string& where,
                      std::vector<Problem>& problems) {
  const DeviceType& device = input.cluster->device;
  if (device.flop_per_s[static_cast<std::size_t>(arithmetic)] > 0) return;
  std::string has;
  for (int i = 0; i < kArithmetics; ++i) {
    if (device.flop_per_s[static_cast<std::size_t>(i)] == 0) continue;
    has += (has.empty() ? "" : ", ") + std::string(name(static_cast<Arithmetic>(i)));
  }
  problems.push_back({where + "/precision",
                      fmt::format("{} does not calculate in {}", device.name, name(arithmetic)),
                      "it has " + has});
}

}  // namespace

std::string_view name(CostPart part) {
  return kPartNames[static_cast<std::size_t>(part)];
}

double CostParts::total() const {
  return std::accumulate(time.begin(), time.end(), 0.0);
}

CostParts& CostParts::operator+=(const CostParts& other) {
  for (std::size_t i = 0; i < time.size(); ++i) time[i] += other.time[i];
  return *this;
}

std::vector<Problem> check_estimate(const EstimateInput& input, const std::string& where) {
  std::vector<Problem> problems =
      check_placement(placement_of(input.parallel, input.order), *input.cluster, where);
  if (!problems.empty()) return problems;
  problems = check_parallel(input.parallel, *input.model, input.tokens, where);
  const Precision precision = input.choice.precision;
  check_arithmetic(input, arithmetic_elsewhere(precision), where, problems);
  if (matrix_arithmetic(precision) != arithmetic_elsewhere(precision)) {
    check_arithmetic(input, matrix_arithmetic(precision), where, problems);
  }
  return problems;
}

Estimate estimate(const EstimateInput& input, const Schedule& schedule, const Split& split) {
  return Estimating(input, schedule, split).run();
}

}  // namespace penstock
