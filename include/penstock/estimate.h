// File: estimate.h. What a model costs on machines: from sizes, degrees and a cluster to a
// CostTable, and where each op's time goes.
//
// An op of a stage is the sum of the parts below over the stage's blocks. All sizes are those of
// one device (flops.h, footprint.h); v is the bytes of a value, h the width, S = tokens x h x v the
// hidden states that tensor parallelism shares.
//
//   products   per matrix product the longer of FLOP / (peak x fraction) and bytes / (bandwidth x
//              fraction), bytes those of the three matrices; a weight gradient's sum is read and
//              written. The roofline (Williams, Waterman, Patterson, 2009) with the device's
//              measured fractions (cluster.h); experts times their imbalance.
//   attention  scores and values as one kernel, FLOP / (peak x fraction). FlashAttention (arXiv
//              2205.14135, 3.1): pairs under the mask alone, the backward makes the scores again;
//              unfused: all pairs.
//   memory     bytes / (bandwidth x fraction): in F each tensor that is kept (footprint.h) crosses
//              once and each residual sum reads two and writes one S; in I twice as much, as a
//              backward reads the tensor and a gradient of its size; unfused scores cross 4 times
//              in F and 5 in I. Expert tokens are kept, so their copies are counted.
//   launches   kernels x Assumptions::launch; a kernel per product, attention (its backward 2) and
//              tensor kept that no matrix reads
//   tensor     Megatron-LM (arXiv 1909.08053, 3; 2205.05198, 4.2.2): behind attention and behind
//              the MLP an all_reduce of S in F and in I; with sequence parallelism all_gather and
//              reduce_scatter instead, and in W another all_gather of the input. The embedding and
//              the head as their cut says: one all_reduce, and three of a number per token.
//   context    keys and values of the whole sequence gathered in F, gathered and their gradients
//              scattered in I, as ring attention passes them on (arXiv 2310.01889)
//   expert     two all_to_all of the tokens' copies in F and in I, dispatch and combine
//              (arXiv 2006.16668), times the imbalance
//   data       under ZeRO 3 (arXiv 1910.02054) the stage's weights gathered in F and in I
//
// R: the whole of F (full), or attention alone (selective). B = I + W. Communication of which the
// share o is hidden takes 1 - o of its time, and the part that is hidden behind compute slows that
// down. The step's end: reduce is what replicas exchange (all_reduce of gradients; from ZeRO 1 on
// reduce_scatter of gradients and all_gather of weights, the latter not under ZeRO 3) and the sum
// of a tied embedding; update is bound by memory: gradients read for the norm and the step, the
// optimizer's state read and written, weights written.
//
// Times are those of the stage's first device. All functions are pure and safe to call from any
// thread.
//
//   const Schedule schedule = generate("1f1b", {.actors = 8, .microbatches = 32});
//   const Estimate estimated = estimate({.model = &model, .cluster = &cluster, .parallel =
//   parallel,
//       .sequences = 2, .tokens = 2048}, schedule, even_split(model, 8));
//   simulate(lower(schedule), estimated.costs).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cluster.h"
#include "penstock/costs.h"
#include "penstock/footprint.h"
#include "penstock/placement.h"
#include "penstock/split.h"

namespace penstock {

// What neither sizes nor cluster files say. None is fitted to measured steps.
struct Assumptions {
  // Between two kernels that are launched ahead of time: 3.8 us a kernel that itself takes 2.9 us
  // (NVIDIA, Getting Started with CUDA Graphs, 2019; V100).
  Nanoseconds launch = 900;
  // Shares of communication hidden behind compute. Nothing is, until it is calibrated.
  double tensor_overlap = 0;
  double context_overlap = 0;
  double expert_overlap = 0;
  double data_overlap = 0;
  // What compute takes while communication is hidden behind it, over what it takes alone:
  // Hetu-Galvatron's default profile, 1.126.
  double slow_down = 1.126;
  // Tokens of the busiest device over the mean. 1: a balanced router.
  double expert_imbalance = 1;
  bool operator==(const Assumptions&) const = default;
};

// The model and cluster must outlive it.
struct EstimateInput {
  const Model* model = nullptr;
  const Cluster* cluster = nullptr;
  Parallel parallel = {};
  std::string order = Placement().order;  // of ranks: placement.h
  std::int32_t sequences = 1;             // of a microbatch on one replica
  std::int32_t tokens = 1;                // of a sequence
  FootprintChoice choice = {};
  Assumptions assumptions = {};
};

enum class CostPart : std::uint8_t {
  Products,
  Attention,
  Memory,
  Launches,
  Tensor,
  Context,
  Expert,
  Data
};
inline constexpr int kCostParts = 8;
std::string_view name(CostPart part);  // "products"

// Nanoseconds by part.
struct CostParts {
  std::array<double, kCostParts> time = {};
  double& operator[](CostPart part) { return time[static_cast<std::size_t>(part)]; }
  double operator[](CostPart part) const { return time[static_cast<std::size_t>(part)]; }
  double total() const;
  CostParts& operator+=(const CostParts& other);
  bool operator==(const CostParts&) const = default;
};

// By OpKind, of the first microbatch with all its slices.
using StageParts = std::array<CostParts, kPassKinds>;

struct Estimate {
  CostTable costs;
  std::vector<StageParts> stages;
};

// Why the plan cannot be estimated: what check_parallel and check_placement find, actors or blocks
// that do not match, arithmetic that the device has not. `where` as there.
std::vector<Problem> check_estimate(const EstimateInput& input,
                                    const std::string& where = "parallel");

// The costs of a schedule whose parts hold the blocks of `split`. Actor i is the pipeline's i-th.
// Where the schedule has an R, input.choice.recompute says what it makes again. NICs that several
// actors use are CostTable::links.
// REQUIRES: check_estimate() and check() found nothing; input.parallel.pipeline actors; a part of
// the split for each of the schedule.
Estimate estimate(const EstimateInput& input, const Schedule& schedule, const Split& split);

// What `parallel` asks of the machines.
Placement placement_of(const Parallel& parallel, const std::string& order);

// "fp32", "fp16", "bf16", "fp8".
std::string_view name(Precision precision);
std::optional<Precision> parse_precision(std::string_view text);

// What the matrices of layers are calculated in: the peak that utilisations are of.
Arithmetic matrix_arithmetic(Precision precision);

// Bytes of state as training in this precision is done most: kFp32State, kFp16State, kBf16State;
// fp8 keeps weights as bf16 does (Transformer Engine).
StateBytes usual_state(Precision precision);

}  // namespace penstock
