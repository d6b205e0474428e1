// torch's passes over one rank's row (torch/distributed/pipelining/schedules.py), cell for cell:
// _add_unshard_reshard and _add_reduce_grad for FSDP, and _merge_bw. Blanks are dropped, as there.
#include <algorithm>
#include <list>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "formats/readers.h"
#include "formats/torch_cell.h"

namespace penstock {
namespace {

using Row = std::vector<std::string>;

bool contains(const std::vector<std::int32_t>& stages, std::int32_t stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

Row without_blanks(const Row& row) {
  Row kept;
  std::copy_if(row.begin(), row.end(), std::back_inserter(kept),
               [](const std::string& cell) { return !cell.empty(); });
  return kept;
}

void refuse_all_but_computes(const TorchTable& table) {
  std::vector<Problem> problems;
  for (std::size_t actor = 0; actor < table.rows.size(); ++actor) {
    for (std::size_t position = 0; position < table.rows[actor].size(); ++position) {
      const std::string& cell = table.rows[actor][position];
      const auto actions = parse_cell(cell);
      if (actions && (actions->empty() || compute_kind(actions->front().word))) continue;
      problems.push_back({fmt::format("actor {}, position {}", actor, position),
                          fmt::format("{} is no compute", shortened(cell)),
                          "this pass takes a table of computes"});
      break;  // its like follow
    }
  }
  if (!problems.empty()) throw Error(problems);
}

// The stages that a row still computes, by their next cell: fed with the cells from the last to the
// first.
class Upcoming {
 public:
  void see(const std::string& cell, std::size_t position) {
    const auto actions = parse_cell(cell);
    for (auto action = actions->rbegin(); action != actions->rend(); ++action) {
      const auto [place, is_new] = places_.try_emplace(action->stage);
      if (!is_new) stages_.erase(place->second);
      stages_.push_front({action->stage, position});
      place->second = stages_.begin();
    }
  }

  // The next `most`; the second stage of a pair comes along even when it is one too many.
  std::vector<std::int32_t> next(std::int32_t most) const {
    std::vector<std::int32_t> stages;
    std::size_t last = 0;
    for (const auto& [stage, position] : stages_) {
      if (stages.size() >= static_cast<std::size_t>(most) && position != last) break;
      stages.push_back(stage);
      last = position;
    }
    return stages;
  }

 private:
  struct Entry {
    std::int32_t stage;
    std::size_t position;
  };
  std::list<Entry> stages_;
  std::unordered_map<std::int32_t, std::list<Entry>::iterator> places_;
};

// The stages to hold at each cell of a row.
std::vector<std::vector<std::int32_t>> wanted_stages(const Row& row, std::int32_t most) {
  std::vector<std::vector<std::int32_t>> wanted(row.size());
  Upcoming upcoming;
  for (std::size_t position = row.size(); position-- > 0;) {
    upcoming.see(row[position], position);
    wanted[position] = upcoming.next(most);
  }
  return wanted;
}

// Stages that leave at once leave by number (torch: in the order of a Python set, which is that for
// stages below 8).
Row with_shards(const Row& row, std::int32_t most) {
  Row result;
  std::vector<std::int32_t> active;  // gathered now, sorted
  const auto reshard_unless_in = [&](const std::vector<std::int32_t>& wanted) {
    std::erase_if(active, [&](std::int32_t stage) {
      if (contains(wanted, stage)) return false;
      result.push_back(fmt::format("{}RESHARD", stage));
      return true;
    });
  };
  const auto wanted = wanted_stages(row, most);
  for (std::size_t position = 0; position < row.size(); ++position) {
    reshard_unless_in(wanted[position]);
    for (const std::int32_t stage : wanted[position]) {
      if (contains(active, stage)) continue;
      active.insert(std::upper_bound(active.begin(), active.end(), stage), stage);
      result.push_back(fmt::format("{}UNSHARD", stage));
    }
    result.push_back(row[position]);
  }
  reshard_unless_in({});
  return result;
}

Row with_reductions(const Row& row, std::int32_t microbatches) {
  Row result;
  std::map<std::int32_t, std::int32_t> gradients;  // weight gradients so far, by stage
  for (const std::string& cell : row) {
    result.push_back(cell);
    const auto actions = parse_cell(cell);
    for (const TorchAction& action : *actions) {
      const auto kind = compute_kind(action.word);
      if (kind && gives_weight_gradient(*kind) && ++gradients[action.stage] == microbatches) {
        result.push_back(fmt::format("{}REDUCE_GRAD", action.stage));
      }
    }
  }
  return result;
}

// "3B5" where `input` is 3I5 and `weight` 3W5; "" for any other two cells.
std::string merged(const std::string& input, const std::string& weight) {
  const auto first = parse_op(input);
  const auto second = parse_op(weight);
  if (!first || !second || first->kind != OpKind::BackwardInput) return {};
  Op op = *first;
  op.kind = OpKind::BackwardWeight;
  if (op != *second) return {};
  op.kind = OpKind::Backward;
  return to_string(op);
}

Row with_whole_backwards(const Row& row) {
  Row result;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string whole = i + 1 < row.size() ? merged(row[i], row[i + 1]) : "";
    result.push_back(whole.empty() ? row[i] : whole);
    if (!whole.empty()) ++i;
  }
  return result;
}

}  // namespace

TorchTable add_unshard_reshard(const TorchTable& compute, std::int32_t most_active) {
  refuse_all_but_computes(compute);
  TorchTable result;
  for (const Row& row : compute.rows) {
    result.rows.push_back(with_shards(without_blanks(row), most_active));
  }
  return result;
}

TorchTable add_reduce_grad(const TorchTable& table) {
  const Pipeline pipeline = schedule_of(table, "table").pipeline;
  TorchTable result;
  for (const Row& row : table.rows) {
    result.rows.push_back(with_reductions(without_blanks(row),
                                          static_cast<std::int32_t>(pipeline.microbatches.size())));
  }
  return result;
}

TorchTable merge_backwards(const TorchTable& compute) {
  refuse_all_but_computes(compute);
  TorchTable result;
  for (const Row& row : compute.rows) {
    result.rows.push_back(with_whole_backwards(without_blanks(row)));
  }
  return result;
}

}  // namespace penstock
