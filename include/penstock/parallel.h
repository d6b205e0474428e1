// File: parallel.h. Over how many devices the work is spread, and along which dimension.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/model.h"

namespace penstock {

// pipeline x tensor x context x data devices. Experts are spread over the devices that the other
// dimensions leave free: `expert` of tensor x context x data (Megatron-LM's and DeepSpeed-MoE's
// way), each expert's matrices over `expert_tensor` of them.
struct Parallel {
  std::int32_t pipeline = 1;       // actors
  std::int32_t chunks = 1;         // stages per actor
  std::int32_t tensor = 1;         // devices that share every matrix and the heads
  bool sequence = false;           // and between the matrices the tokens (arXiv 2205.05198)
  std::int32_t context = 1;        // devices that share the tokens of a sequence
  std::int32_t data = 1;           // replicas of all that
  std::int32_t expert = 1;         // devices that share the experts
  std::int32_t expert_tensor = 0;  // devices that share one expert's matrices; 0: `tensor`
  // ZeRO's stage (arXiv 1910.02054): 1 shards the optimizer's state over the replicas, 2 gradients
  // as well, 3 weights as well.
  std::int32_t zero = 0;

  std::int64_t devices() const { return std::int64_t{pipeline} * tensor * context * data; }
  // Devices that hold the same weights: of everything but the experts, and of the experts.
  std::int64_t replicas() const { return std::int64_t{context} * data; }
  std::int64_t expert_replicas() const {
    return replicas() * tensor / (expert * tensor_of_experts());
  }
  std::int32_t tensor_of_experts() const { return expert_tensor > 0 ? expert_tensor : tensor; }
  bool operator==(const Parallel&) const = default;
};

// Why `model` cannot be spread so: heads, widths, vocabulary, experts or the tokens of a sequence
// that do not divide, experts over more devices than there are. `where` names the object for
// messages ("my.json:/parallel"). Key-value heads fewer than `tensor` are held several times.
std::vector<Problem> check_parallel(const Parallel& parallel, const Model& model,
                                    std::int64_t sequence, const std::string& where = "parallel");

}  // namespace penstock
