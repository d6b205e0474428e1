// File: placement.h. Which device does which part of a parallel plan.
//
// Ranks are devices: rank r runs on device r of the cluster. The order says along which dimension
// ranks that follow one another differ, innermost first (Megatron-LM's --use-tp-pp-dp-mapping and
// its default, parallel_state.RankGenerator).
//
//   const Placement placement = {.tensor = 4, .data = 4, .pipeline = 8};
//   group_of(placement, {Dimension::Tensor}, 5)    // {4, 5, 6, 7}
//   stage_device(placement, 5, 1)                  // 21: the same part of the next stage
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penstock/cluster.h"
#include "penstock/error.h"

namespace penstock {

// Of the layers without experts tensor x context x data x pipeline devices; in layers with experts
// the same devices of a stage are expert_tensor x expert x the replicas of each expert.
struct Placement {
  std::int32_t tensor = 1;
  std::int32_t context = 1;
  std::int32_t expert = 1;
  std::int32_t expert_tensor = 0;  // 0: `tensor`
  std::int32_t data = 1;
  std::int32_t pipeline = 1;
  std::string order = "tp-cp-ep-dp-pp";  // each of the five once, innermost first

  std::int64_t devices() const { return std::int64_t{tensor} * context * data * pipeline; }
  bool operator==(const Placement&) const = default;
};

// ExpertTensor, Expert and ExpertData divide the layers with experts, Tensor, Context and Data all
// others, Pipeline both.
enum class Dimension : std::uint8_t {
  Tensor,
  Context,
  Data,
  ExpertTensor,
  Expert,
  ExpertData,
  Pipeline
};

// Why the plan cannot be placed on the cluster: an order that is none, degrees below 1, experts
// that do not divide, stages that would differ between the two kinds of layers, too many devices.
// `where` names the plan.
std::vector<Problem> check_placement(const Placement& placement, const Cluster& cluster,
                                     const std::string& where = "placement");

// The devices that differ from `device` in these dimensions alone, `device` among them, ascending.
// Data and Context together are the replicas whose gradients are added.
// REQUIRES: check_placement found nothing; the dimensions are all of one kind of layers.
std::vector<std::int32_t> group_of(const Placement& placement, std::span<const Dimension> along,
                                   std::int32_t device);
std::vector<std::int32_t> group_of(const Placement& placement,
                                   std::initializer_list<Dimension> along, std::int32_t device);

// The device of another stage of the pipeline that holds what `device` holds of its own.
// REQUIRES: check_placement found nothing; 0 <= stage < pipeline.
std::int32_t stage_device(const Placement& placement, std::int32_t device, std::int32_t stage);

// How a group lies on the nodes.
struct NodeLayout {
  std::int32_t nodes = 0;
  std::int32_t fewest_per_node = 0;
  std::int32_t most_per_node = 0;
  bool operator==(const NodeLayout&) const = default;
};
NodeLayout node_layout(const Cluster& cluster, std::span<const std::int32_t> devices);

}  // namespace penstock
