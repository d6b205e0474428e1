// File: instance.h. One pipeline with its prices and limits, flat: what every part of the search
// indexes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "penstock/costs.h"
#include "penstock/depend.h"
#include "penstock/index.h"
#include "penstock/pipeline.h"

namespace penstock {

// A unit is a stage's work on one microbatch (slice). It has three nodes: node 3u is its forward,
// 3u + 1 its backward (the B, or the I of a split one), 3u + 2 the W of a split one.
inline constexpr std::int32_t kNodesPerUnit = 3;
inline constexpr std::int32_t kNone = -1;

inline std::int32_t unit_of(std::int32_t node) {
  return node / kNodesPerUnit;
}
inline OpKind kind_of(std::int32_t node) {
  constexpr OpKind kKinds[] = {OpKind::Forward, OpKind::Backward, OpKind::BackwardWeight};
  return kKinds[node % kNodesPerUnit];
}

struct Node {
  std::int32_t actor = 0;
  std::int32_t input = kNone;     // the node on another actor whose message it awaits
  std::int32_t consumer = kNone;  // the node on another actor that awaits its message
  std::int32_t channel = kNone;   // that message's: one per directed pair of actors
  Nanoseconds occupancy = 0;      // of that channel
  Nanoseconds latency = 0;        // behind it
  std::array<std::int32_t, 3> own = {kNone, kNone, kNone};  // what it needs on its own actor
};

// What an activation takes up while it is held: parts of a microbatch in flight, and bytes.
struct Room {
  std::int64_t parts = 0;
  std::int64_t bytes = 0;

  bool fits(const Room& limit) const { return parts <= limit.parts && bytes <= limit.bytes; }
  Room& operator+=(const Room& other) {
    parts += other.parts;
    bytes += other.bytes;
    return *this;
  }
  Room& operator-=(const Room& other) {
    parts -= other.parts;
    bytes -= other.bytes;
    return *this;
  }
};

// May the backward be whole (B), may it be split (I and W)?
struct Backwards {
  bool whole = true;
  bool split = true;
};

class Instance {
 public:
  // `costs` has one entry per stage of `pipeline`; `in_flight` microbatches and `bytes` (weights
  // and activations) bound each actor, one value per actor or none.
  // REQUIRES: check found no fault in the pipeline, and every stage's costs give F and one of the
  // allowed forms of the backward.
  Instance(Pipeline pipeline, CostTable costs, const Backwards& allowed,
           const std::vector<double>& in_flight, const std::vector<std::int64_t>& bytes);

  const Pipeline& pipeline() const { return pipeline_; }
  const CostTable& costs() const { return costs_; }
  std::int32_t actors() const { return pipeline_.actors; }
  std::int32_t units() const { return needs_.units(); }
  std::int32_t nodes() const { return kNodesPerUnit * units(); }
  std::int32_t channels() const { return channels_; }
  bool limits_bandwidth() const { return limits_bandwidth_; }

  const Node& node(std::int32_t n) const { return nodes_[index(n)]; }
  const Op& forward_of(std::int32_t unit) const { return op_[index(unit)]; }
  std::int32_t node_of(const Op& op) const {
    const std::int32_t kind = op.kind == OpKind::Forward          ? 0
                              : op.kind == OpKind::BackwardWeight ? 2
                                                                  : 1;
    return kNodesPerUnit * needs_.unit(op) + kind;
  }

  bool may_be_whole(std::int32_t unit) const { return whole_[index(unit)] >= 0; }
  bool may_be_split(std::int32_t unit) const {
    return duration_[index(kNodesPerUnit * unit) + 2] >= 0;
  }
  // Of B.  REQUIRES: may_be_whole(unit).
  Nanoseconds whole(std::int32_t unit) const { return whole_[index(unit)]; }
  // Of F, I or W.  REQUIRES: may_be_split(unit) for the last two.
  Nanoseconds duration(std::int32_t node) const { return duration_[index(node)]; }
  // B, or I and W together where it cannot be whole.
  Nanoseconds backward(std::int32_t unit) const {
    if (may_be_whole(unit)) return whole(unit);
    return duration(kNodesPerUnit * unit + 1) + duration(kNodesPerUnit * unit + 2);
  }
  // No B is shorter than its I and W together: splitting never loses.
  bool splitting_is_free() const { return splitting_is_free_; }

  // What the unit's activation takes up on its actor, from the start of F to the end of B or W.
  const Room& room(std::int32_t unit) const { return room_[index(unit)]; }
  // Of that, what is free at the end of I already, where the backward is split.
  const Room& freed_early(std::int32_t unit) const { return freed_early_[index(unit)]; }
  // What the activations of an actor may take up.
  const Room& limit(std::int32_t actor) const { return limit_[index(actor)]; }
  std::int64_t parts_per_microbatch() const { return parts_; }

  // The microbatches of a route cannot be told apart, and one route is all there is per stage: an
  // order with the microbatches of every stage ascending is as good as any other.
  bool microbatches_are_alike() const { return alike_; }

 private:
  void lay_out_nodes();
  using ChannelNumbers = std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>;  // from, to
  void connect(std::int32_t node, ChannelNumbers& channel_of);
  void price(const Backwards& allowed);
  void measure_rooms();
  void set_limits(const std::vector<double>& in_flight, const std::vector<std::int64_t>& bytes);

  Pipeline pipeline_;
  CostTable costs_;
  Dependencies needs_;
  std::vector<Op> op_;  // by unit: its forward
  std::vector<Node> nodes_;
  std::vector<Nanoseconds> duration_;  // by node; kNotAllowed
  std::vector<Nanoseconds> whole_;     // by unit; kNotAllowed
  std::vector<Room> room_;             // by unit
  std::vector<Room> freed_early_;      // by unit
  std::vector<Room> limit_;            // by actor
  std::int64_t parts_ = 1;
  std::int32_t channels_ = 0;
  bool limits_bandwidth_ = false;
  bool splitting_is_free_ = true;
  bool alike_ = true;
};

}  // namespace penstock
