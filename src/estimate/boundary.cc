#include "estimate/boundary.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "estimate/groups.h"
#include "penstock/collective.h"
#include "penstock/index.h"

namespace penstock {
namespace {

class Boundaries {
 public:
  explicit Boundaries(const EstimateInput& input)
      : cluster_(*input.cluster), placement_(placement_of(input.parallel, input.order)) {
    for (std::int32_t actor = 0; actor < input.parallel.pipeline; ++actor) {
      first_.push_back(first_device(input, actor));
    }
  }

  // What the first devices of the actors send each other, while all their others do the same.
  MessageCost message(std::int32_t from, std::int32_t to, std::int64_t bytes) {
    const std::int32_t source = first_[index(from)];
    const std::int32_t target = first_[index(to)];
    if (cluster_.node_of(source) == cluster_.node_of(target)) {
      return message_cost(cluster_, source, target, bytes, /*alone=*/true);
    }
    note(from, to, bytes);
    note(to, from, bytes);
    if (own_devices(from) == in_nics(source)) return message_cost(cluster_, source, target, bytes);
    MessageCost cost = message_cost(cluster_, source, target, bytes, /*alone=*/true);
    cost.bytes_per_s = std::min(cost.bytes_per_s, nic_rate(from, bytes));
    return cost;
  }

  std::vector<SharedLink> links() const {
    std::vector<SharedLink> shared;
    for (const auto& [key, link] : links_) {
      if (link.channels.size() > 1) shared.push_back(link);
    }
    return shared;
  }

 private:
  const NicGroup& nics(std::int32_t device) const {
    return cluster_.nics[cluster_.nics_of(device)];
  }
  std::int64_t in_nics(std::int32_t device) const {
    return static_cast<std::int64_t>(nics(device).devices.size());
  }

  std::int32_t actor_of(std::int32_t device) const {
    const auto group = group_of(placement_, {Dimension::Pipeline}, device);
    return static_cast<std::int32_t>(std::find(group.begin(), group.end(), device) - group.begin());
  }

  // Devices of the actor on the NICs of its first one.
  std::int64_t own_devices(std::int32_t actor) {
    const auto [known, is_new] = own_.try_emplace(actor, 0);
    if (!is_new) return known->second;
    const std::int32_t device = first_[index(actor)];
    const std::int32_t node = cluster_.node_of(device) * cluster_.node.devices;
    for (const std::int32_t local : nics(device).devices) {
      const bool is_used = node + local < placement_.devices();
      known->second += is_used && actor_of(node + local) == actor ? 1 : 0;
    }
    return known->second;
  }

  // Of one device.
  double nic_rate(std::int32_t actor, std::int64_t bytes) {
    const double rate = cluster_.nic.bytes_per_s * nics(first_[index(actor)]).nics;
    return cluster_.nic.message.rate(rate, static_cast<double>(bytes)) /
           static_cast<double>(own_devices(actor));
  }

  // Out of one node, into the other.
  void note(std::int32_t from, std::int32_t to, std::int64_t bytes) {
    note(from, "out of", {from, to}, bytes);
    note(to, "into", {from, to}, bytes);
  }

  void note(std::int32_t actor, std::string_view way, std::pair<std::int32_t, std::int32_t> channel,
            std::int64_t bytes) {
    const std::int32_t device = first_[index(actor)];
    const std::string name =
        fmt::format("NIC {} {} node {}", cluster_.nics_of(device), way, cluster_.node_of(device));
    SharedLink& link = links_[name];
    link.name = name;
    link.bytes_per_s = std::max(link.bytes_per_s, nic_rate(actor, bytes));
    const auto known = std::find(link.channels.begin(), link.channels.end(), channel);
    if (known == link.channels.end()) link.channels.push_back(channel);
  }

  const Cluster& cluster_;
  const Placement placement_;
  std::vector<std::int32_t> first_;           // device, by actor
  std::map<std::int32_t, std::int64_t> own_;  // own_devices
  std::map<std::string, SharedLink> links_;   // by name
};

}  // namespace

void add_boundaries(const EstimateInput& input, const Pipeline& pipeline, CostTable& costs) {
  Boundaries boundaries(input);
  const std::vector<std::int32_t> next = next_on_route(pipeline);
  for (std::size_t stage = 0; stage < next.size(); ++stage) {
    if (next[stage] < 0) continue;
    const std::int32_t from = pipeline.stages[stage].actor;
    const std::int32_t to = pipeline.stages[index(next[stage])].actor;
    if (from == to) continue;
    MessageCost& message = costs.stages[stage].message;
    const MessageCost priced = boundaries.message(from, to, message.largest());
    message.latency = priced.latency;
    message.bytes_per_s = priced.bytes_per_s;
  }
  costs.links = boundaries.links();
}

}  // namespace penstock
