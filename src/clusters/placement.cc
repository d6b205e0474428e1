#include "penstock/placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"tp", "cp", "ep", "dp", "pp"};

// One axis of the grid of ranks.
struct Axis {
  Dimension dimension;
  std::int32_t size;
  std::int64_t stride;  // between ranks that differ by one along it
};

std::vector<std::string_view> words(std::string_view order) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t dash = order.find('-');
    found.push_back(order.substr(0, dash));
    if (dash == std::string_view::npos) return found;
    order.remove_prefix(dash + 1);
  }
}

bool is_order(std::string_view order) {
  std::vector<std::string_view> given = words(order);
  auto known = kNames;
  std::sort(given.begin(), given.end());
  std::sort(known.begin(), known.end());
  return std::equal(given.begin(), given.end(), known.begin(), known.end());
}

std::int64_t expert_tensor(const Placement& p) {
  return p.expert_tensor > 0 ? p.expert_tensor : p.tensor;
}

// The axes of the layers with or without experts, innermost first. REQUIRES: is_order.
std::vector<Axis> grid(const Placement& p, bool with_experts) {
  const std::int64_t experts = expert_tensor(p) * p.expert;
  const std::int64_t stage = std::int64_t{p.tensor} * p.context * p.data;
  std::vector<Axis> axes;
  const auto add = [&](Dimension dimension, std::int64_t size) {
    axes.push_back({dimension, static_cast<std::int32_t>(size), 0});
  };
  for (const std::string_view word : words(p.order)) {
    if (word == "pp") add(Dimension::Pipeline, p.pipeline);
    if (word == "tp" && with_experts) add(Dimension::ExpertTensor, expert_tensor(p));
    if (word == "tp" && !with_experts) add(Dimension::Tensor, p.tensor);
    if (word == "dp" && with_experts) add(Dimension::ExpertData, stage / experts);
    if (word == "dp" && !with_experts) add(Dimension::Data, p.data);
    if (word == "ep" && with_experts) add(Dimension::Expert, p.expert);
    if (word == "cp" && !with_experts) add(Dimension::Context, p.context);
  }
  std::int64_t stride = 1;
  for (Axis& axis : axes) {
    axis.stride = stride;
    stride *= axis.size;
  }
  return axes;
}

const Axis& axis_of(const std::vector<Axis>& axes, Dimension dimension) {
  return *std::find_if(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return axis.dimension == dimension; });
}

bool needs_experts(Dimension dimension) {
  return dimension == Dimension::ExpertTensor || dimension == Dimension::Expert ||
         dimension == Dimension::ExpertData;
}

std::vector<Problem> wrong_degrees(const Placement& p, const std::string& where) {
  std::vector<Problem> problems;
  const std::pair<const char*, std::int32_t> degrees[] = {{"tensor", p.tensor},
                                                          {"context", p.context},
                                                          {"expert", p.expert},
                                                          {"data", p.data},
                                                          {"pipeline", p.pipeline}};
  for (const auto& [name, degree] : degrees) {
    if (degree >= 1 && degree <= kMostDevices) continue;
    problems.push_back({where, fmt::format("{} is {}", name, degree),
                        fmt::format("allowed: 1 to {}", kMostDevices)});
  }
  if (p.expert_tensor < 0) {
    problems.push_back({where, fmt::format("expert_tensor is {}", p.expert_tensor),
                        "0 stands for the tensor degree"});
  }
  if (!is_order(p.order)) {
    problems.push_back({where, fmt::format("'{}' is no order of ranks", p.order),
                        "each of tp, cp, ep, dp and pp once: tp-cp-ep-dp-pp"});
  }
  return problems;
}

}  // namespace

std::vector<Problem> check_placement(const Placement& placement, const Cluster& cluster,
                                     const std::string& where) {
  const Placement& p = placement;
  std::vector<Problem> problems = wrong_degrees(p, where);
  if (!problems.empty()) return problems;
  const std::int64_t experts = expert_tensor(p) * p.expert;
  const std::int64_t stage = std::int64_t{p.tensor} * p.context * p.data;
  if (stage > cluster.devices() / p.pipeline) {
    problems.push_back(
        {where,
         fmt::format("tensor {} x context {} x data {} x pipeline {} devices, but {} has {}",
                     p.tensor, p.context, p.data, p.pipeline, cluster.name, cluster.devices()),
         "more nodes or smaller degrees"});
  }
  if (stage % experts != 0) {
    problems.push_back(
        {where,
         fmt::format("experts over {} devices do not divide the {} of a stage", experts, stage),
         "expert x expert_tensor divides tensor x context x data"});
  } else if (problems.empty() && axis_of(grid(p, true), Dimension::Pipeline).stride !=
                                     axis_of(grid(p, false), Dimension::Pipeline).stride) {
    problems.push_back(
        {where, fmt::format("with the order '{}' layers with experts have other stages", p.order),
         "put pp first or last"});
  }
  return problems;
}

std::vector<std::int32_t> group_of(const Placement& placement, std::span<const Dimension> along,
                                   std::int32_t device) {
  const bool with_experts = std::any_of(along.begin(), along.end(), needs_experts);
  const std::vector<Axis> axes = grid(placement, with_experts);
  std::vector<std::int32_t> devices = {device};
  for (const Dimension dimension : along) {
    const Axis& axis = axis_of(axes, dimension);
    const std::int64_t own = device / axis.stride % axis.size;
    std::vector<std::int32_t> wider;
    for (const std::int32_t member : devices) {
      for (std::int64_t i = 0; i < axis.size; ++i) {
        wider.push_back(static_cast<std::int32_t>(member + (i - own) * axis.stride));
      }
    }
    devices = std::move(wider);
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

std::vector<std::int32_t> group_of(const Placement& placement,
                                   std::initializer_list<Dimension> along, std::int32_t device) {
  return group_of(placement, std::span(along.begin(), along.size()), device);
}

std::int32_t stage_device(const Placement& placement, std::int32_t device, std::int32_t stage) {
  const std::vector<Axis> axes = grid(placement, false);
  const Axis& axis = axis_of(axes, Dimension::Pipeline);
  const std::int64_t own = device / axis.stride % axis.size;
  return static_cast<std::int32_t>(device + (stage - own) * axis.stride);
}

NodeLayout node_layout(const Cluster& cluster, std::span<const std::int32_t> devices) {
  std::map<std::int32_t, std::int32_t> members;  // by node
  for (const std::int32_t device : devices) ++members[cluster.node_of(device)];
  NodeLayout layout = {static_cast<std::int32_t>(members.size()), 0, 0};
  for (const auto& [node, count] : members) {
    layout.most_per_node = std::max(layout.most_per_node, count);
    layout.fewest_per_node =
        layout.fewest_per_node == 0 ? count : std::min(layout.fewest_per_node, count);
  }
  return layout;
}

}  // namespace penstock
