#include "formats/sailsg_nodes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "formats/readers.h"
#include "json_reader.h"
#include "penstock/nearest.h"
#include "problem_list.h"

namespace penstock {
namespace {

constexpr std::pair<std::string_view, OpKind> kComputes[] = {
    {"F", OpKind::Forward},   {"B", OpKind::BackwardInput}, {"W", OpKind::BackwardWeight},
    {"BW", OpKind::Backward}, {"R", OpKind::Recompute},
};
// Rounded times may overlap by as much.
constexpr Nanoseconds kTolerance = 1000;

// What is derived from the order, and left out.
constexpr std::string_view kDerived[] = {"SEND_FORWARD", "RECV_FORWARD", "SEND_BACKWARD",
                                         "RECV_BACKWARD"};

// What a schedule cannot hold.
struct Refused {
  std::string_view prefix;
  std::string_view reason;
  std::string_view hint;
};
constexpr Refused kRefused[] = {
    {"POST_VALIDATION", "a schedule ends with one update, without post-validation",
     "write the nodes without the post-validation pass"},
    {"SEND_POST_VALIDATION", "a schedule ends with one update, without post-validation",
     "write the nodes without the post-validation pass"},
    {"RECV_POST_VALIDATION", "a schedule ends with one update, without post-validation",
     "write the nodes without the post-validation pass"},
    {"OFFLOAD_", "a schedule does not move activations to the host and back",
     "write the nodes without the offloading pass"},
    {"S", "vocabulary parallelism has passes that run on all ranks", ""},
    {"T", "vocabulary parallelism has passes that run on all ranks", ""},
    {"IF", "vocabulary parallelism has passes that run on all ranks", ""},
    {"IB", "vocabulary parallelism has passes that run on all ranks", ""},
    {"REDUCE_", "vocabulary parallelism has passes that run on all ranks", ""},
    {"BROADCAST_", "vocabulary parallelism has passes that run on all ranks", ""},
};

bool matches(const Refused& row, std::string_view type) {
  return row.prefix.ends_with('_') ? type.starts_with(row.prefix) : type == row.prefix;
}

class Reader {
 public:
  Reader(NodeTimes times, std::vector<Problem>& problems) : times_(times), problems_(problems) {}

  std::vector<ScheduledNode> read_rank(const JsonReader& rank, std::int32_t actor) {
    std::vector<ScheduledNode> nodes;
    if (!rank.is_array()) return nodes;
    for (std::size_t i = 0; i < rank.size() && !full(); ++i) {
      const JsonReader object = rank.at(i);
      if (!object.is_object()) continue;
      const auto op = read_node(object, actor);
      if (!op) continue;
      const Nanoseconds free = nodes.empty() ? 0 : nodes.back().end;
      nodes.push_back({.op = *op});
      if (times_ == NodeTimes::Wanted) read_times(object, free, nodes.back());
    }
    return nodes;
  }

  bool full() const { return problems_.size() >= ProblemList::kMost; }

  // What was refused, a problem per type.
  void finish() {
    for (const auto& [op, place] : needs_recompute_) {
      if (recomputed_.contains(op)) continue;
      refuse("nodes with need_recompute", place, "no R node says where it is recomputed",
             "write the nodes with the recomputation pass");
    }
    for (const auto& [type, found] : refused_) {
      problems_.push_back({found.first, fmt::format("{} ({}): {}", type, found.count, found.reason),
                           std::string(found.hint)});
    }
  }

 private:
  struct Found {
    std::string first;  // place
    std::string_view reason;
    std::string_view hint;
    int count = 0;
  };

  void refuse(const std::string& type, const std::string& place, std::string_view reason,
              std::string_view hint) {
    ++refused_.try_emplace(type, Found{place, reason, hint}).first->second.count;
  }

  // The op of a compute node; nothing for any other.
  std::optional<Op> read_node(const JsonReader& node, std::int32_t actor) {
    node.only({"type", "stage", "microbatch", "minibatch", "chunk", "seq_split_idx",
               "layer_group_idx", "start_time", "completion_time", "recv_peer_stage",
               "send_peer_stage", "comm_direction", "comm_peer_stage", "comm_pair_id", "rollback",
               "need_recompute", "should_offload"});
    const std::string type = node.text("type", {}, true);
    const auto compute = std::find_if(std::begin(kComputes), std::end(kComputes),
                                      [&](const auto& row) { return row.first == type; });
    if (compute == std::end(kComputes)) {
      read_other(node, type);
      return std::nullopt;
    }
    if (node.boolean("should_offload", false)) {
      refuse("nodes with should_offload", node.place(),
             "a schedule does not move activations to the host and back",
             "write the nodes without the offloading pass");
    }
    const Op op{compute->second, stage_of(node, actor), microbatch_of(node),
                static_cast<std::int32_t>(node.integer("seq_split_idx", kIndex))};
    note_recomputation(node, op);
    return op;
  }

  // The rank is free from `free` on.
  void read_times(const JsonReader& object, Nanoseconds free, ScheduledNode& node) {
    if (!object.has("start_time") || !object.has("completion_time")) {
      refuse("nodes without start_time or completion_time", object.place(),
             "they have no place in time", "write the nodes behind the pass that adds times");
      return;
    }
    node.start = from_ms(object.number("start_time", {.max = kLongestMs}));
    node.end = from_ms(object.number("completion_time", {.max = kLongestMs}));
    if (node.end < node.start) {
      object.problem("it ends before it starts", "times are start_time and completion_time");
    } else if (node.start + kTolerance < free) {
      object.problem(fmt::format("it starts {} us before the one in front of it ends",
                                 (free - node.start) / 1000),
                     "a rank's list is in order of time");
    }
    node.start = std::max(node.start, free);
    node.end = std::max(node.end, node.start);
  }

  // A unit that needs it has an R, which may come later.
  void note_recomputation(const JsonReader& node, Op op) {
    const bool needed = node.boolean("need_recompute", false);
    const bool is_there = op.kind == OpKind::Recompute;
    op.kind = OpKind::Recompute;
    if (is_there) recomputed_.insert(op);
    if (needed) needs_recompute_.try_emplace(op, node.place());
  }

  void read_other(const JsonReader& node, const std::string& type) {
    if (type.empty() ||
        std::find(std::begin(kDerived), std::end(kDerived), type) != std::end(kDerived)) {
      return;  // a type that is missing is reported
    }
    const auto row = std::find_if(std::begin(kRefused), std::end(kRefused),
                                  [&](const Refused& refused) { return matches(refused, type); });
    if (row != std::end(kRefused)) {
      refuse(shortened(type) + " nodes", node.place(), row->reason, row->hint);
    } else {
      node.at("type").problem(
          fmt::format("unknown type '{}'", shortened(type)),
          did_you_mean(type, kComputes, &std::pair<std::string_view, OpKind>::first));
    }
  }

  std::int32_t stage_of(const JsonReader& node, std::int32_t actor) {
    const std::int64_t rank = node.integer("stage", {.max = kMostItems - 1, .fallback = actor});
    if (rank != actor) {
      node.problem(fmt::format("a node of rank {} in the list of rank {}", rank, actor),
                   "the file holds a list per rank, in order");
    }
    if (node.has("layer_group_idx")) {
      return static_cast<std::int32_t>(node.integer("layer_group_idx", kIndex));
    }
    if (node.integer("chunk", kIndex) > 0) {
      refuse("nodes of a second chunk without layer_group_idx", node.place(),
             "a chunk alone does not tell its stage", "give every node its layer_group_idx");
    }
    return actor;
  }

  std::int32_t microbatch_of(const JsonReader& node) {
    // Named minibatch until 2024.
    const bool old = node.has("minibatch") && !node.has("microbatch");
    return static_cast<std::int32_t>(
        node.integer(old ? "minibatch" : "microbatch", {.required = true, .max = kMostItems - 1}));
  }

  static constexpr IntegerRule kIndex = {.max = kMostItems - 1};
  const NodeTimes times_;
  std::vector<Problem>& problems_;
  std::map<std::string, Found> refused_;
  std::set<Op> recomputed_;
  std::map<Op, std::string> needs_recompute_;  // its R, and the first place that says so
};

}  // namespace

std::string_view node_type(OpKind kind) {
  return std::find_if(std::begin(kComputes), std::end(kComputes),
                      [&](const auto& row) { return row.second == kind; })
      ->first;
}

std::vector<std::vector<ScheduledNode>> read_nodes(std::string_view content,
                                                   const std::string& where, NodeTimes times) {
  std::vector<Problem> problems;
  const nlohmann::json document = parse_json(content, where);
  const JsonReader root(document, where, problems);
  std::vector<std::vector<ScheduledNode>> ranks;
  Reader reader(times, problems);
  if (root.is_array()) {
    for (std::size_t i = 0; i < root.size() && !reader.full(); ++i) {
      ranks.push_back(reader.read_rank(root.at(i), static_cast<std::int32_t>(i)));
    }
  }
  reader.finish();
  if (!problems.empty()) throw Error(problems);
  return ranks;
}

Schedule schedule_of_nodes(const std::vector<std::vector<ScheduledNode>>& ranks,
                           const std::string& where) {
  std::vector<std::vector<Step>> order;
  for (const std::vector<ScheduledNode>& nodes : ranks) {
    std::vector<Step>& steps = order.emplace_back();
    for (const ScheduledNode& node : nodes) steps.push_back({.op = node.op});
  }
  std::vector<Problem> problems;
  Schedule schedule = schedule_from_order(std::move(order), where, problems);
  if (!problems.empty()) throw Error(problems);
  return schedule;
}

}  // namespace penstock
