// The scheduled nodes of sail-sg's zero-bubble repository (scheduler/graph.py, ScheduledNode),
// which has no file format of its own: the fields of every node as JSON, a list per pipeline rank.
// There B is the input gradient and BW the full backward; a layer group is a stage.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/readers.h"
#include "json_reader.h"
#include "penstock/nearest.h"
#include "problem_list.h"

namespace penstock {
namespace {

struct ComputeType {
  std::string_view name;
  OpKind kind;
};
constexpr ComputeType kComputes[] = {
    {"F", OpKind::Forward},   {"B", OpKind::BackwardInput}, {"W", OpKind::BackwardWeight},
    {"BW", OpKind::Backward}, {"R", OpKind::Recompute},
};

// What is derived from the order, and left out.
constexpr std::string_view kDerived[] = {"SEND_FORWARD", "RECV_FORWARD", "SEND_BACKWARD",
                                         "RECV_BACKWARD"};

// What a schedule cannot hold.
struct Refused {
  std::string_view prefix;
  std::string_view reason;
  std::string_view hint;
};
constexpr std::string_view kNoValidation =
    "a schedule ends with one update, without post-validation";
constexpr std::string_view kLeaveItOut = "write the nodes without the post-validation pass";
constexpr std::string_view kVocabulary = "vocabulary parallelism has passes that run on all ranks";
constexpr Refused kRefused[] = {
    {"POST_VALIDATION", kNoValidation, kLeaveItOut},
    {"SEND_POST_VALIDATION", kNoValidation, kLeaveItOut},
    {"RECV_POST_VALIDATION", kNoValidation, kLeaveItOut},
    {"OFFLOAD_", "a schedule does not move activations to the host and back",
     "write the nodes without the offloading pass"},
    {"S", kVocabulary, ""},
    {"T", kVocabulary, ""},
    {"IF", kVocabulary, ""},
    {"IB", kVocabulary, ""},
    {"REDUCE_", kVocabulary, ""},
    {"BROADCAST_", kVocabulary, ""},
};

bool matches(const Refused& row, std::string_view type) {
  return row.prefix.ends_with('_') ? type.starts_with(row.prefix) : type == row.prefix;
}

class Reader {
 public:
  explicit Reader(std::vector<Problem>& problems) : problems_(problems) {}

  std::vector<Step> read_rank(const JsonReader& rank, std::int32_t actor) {
    std::vector<Step> steps;
    if (!rank.is_array()) return steps;
    for (std::size_t i = 0; i < rank.size() && !full(); ++i) {
      const JsonReader node = rank.at(i);
      if (!node.is_object()) continue;
      if (const auto op = read_node(node, actor)) steps.push_back({.op = *op});
    }
    return steps;
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
                                      [&](const ComputeType& row) { return row.name == type; });
    if (compute == std::end(kComputes)) {
      read_other(node, type);
      return std::nullopt;
    }
    if (node.boolean("should_offload", false)) {
      refuse("nodes with should_offload", node.place(),
             "a schedule does not move activations to the host and back",
             "write the nodes without the offloading pass");
    }
    const Op op{compute->kind, stage_of(node, actor), microbatch_of(node),
                static_cast<std::int32_t>(node.integer("seq_split_idx", kIndex))};
    note_recomputation(node, op);
    return op;
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
      node.at("type").problem(fmt::format("unknown type '{}'", shortened(type)),
                              did_you_mean(type, kComputes, &ComputeType::name));
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
  std::vector<Problem>& problems_;
  std::map<std::string, Found> refused_;
  std::set<Op> recomputed_;
  std::map<Op, std::string> needs_recompute_;  // its R, and the first place that says so
};

std::string_view type_name(OpKind kind) {
  return std::find_if(std::begin(kComputes), std::end(kComputes),
                      [&](const ComputeType& row) { return row.kind == kind; })
      ->name;
}

}  // namespace

Schedule read_schedule_sailsg(std::string_view content, const std::string& where) {
  std::vector<Problem> problems;
  const nlohmann::json document = parse_json(content, where);
  const JsonReader root(document, where, problems);
  std::vector<std::vector<Step>> order;
  Reader reader(problems);
  if (root.is_array()) {
    for (std::size_t i = 0; i < root.size() && !reader.full(); ++i) {
      order.push_back(reader.read_rank(root.at(i), static_cast<std::int32_t>(i)));
    }
  }
  reader.finish();
  if (!problems.empty()) throw Error(problems);
  Schedule schedule = schedule_from_order(std::move(order), where, problems);
  if (!problems.empty()) throw Error(problems);
  return schedule;
}

std::string write_schedule_sailsg(const Schedule& schedule) {
  refuse_unless_derivable(schedule, Format::SailSg);
  std::vector<std::int32_t> chunk;  // of each stage
  std::map<std::int32_t, std::int32_t> chunks;
  for (const Stage& stage : schedule.pipeline.stages) chunk.push_back(chunks[stage.actor]++);
  std::vector<std::string> ranks;
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    std::vector<std::string> nodes;
    for (const Step& step : schedule.order[actor]) {
      nodes.push_back(fmt::format(
          R"({{"type": "{}", "stage": {}, "microbatch": {}, "chunk": {}, "seq_split_idx": {}, "layer_group_idx": {}}})",
          type_name(step.op.kind), actor, step.op.microbatch,
          chunk[static_cast<std::size_t>(step.op.stage)], step.op.slice, step.op.stage));
    }
    ranks.push_back(nodes.empty() ? "[]"
                                  : fmt::format("[\n    {}\n  ]", fmt::join(nodes, ",\n    ")));
  }
  return fmt::format("[\n  {}\n]\n", fmt::join(ranks, ",\n  "));
}

}  // namespace penstock
