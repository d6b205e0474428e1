// The sends and receives of a torch table: those that its computes need, or what is wrong with
// them.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "formats/readers.h"
#include "formats/torch_cell.h"
#include "penstock/check.h"
#include "penstock/index.h"
#include "problem_list.h"

namespace penstock {
namespace {

bool is_transfer_word(std::string_view word) {
  return word.starts_with("SEND_") || word.starts_with("RECV_");
}

// Where an actor's row has what.
struct Row {
  std::vector<std::size_t> computes;                          // the k-th is in this cell
  std::map<std::string, std::vector<std::size_t>> transfers;  // by cell, "1RECV_F3"
};

Row row_of(const std::vector<std::string>& cells) {
  Row row;
  for (std::size_t at = 0; at < cells.size(); ++at) {
    const auto actions = parse_cell(cells[at]);
    for (const TorchAction& action : *actions) {
      if (compute_kind(action.word)) row.computes.push_back(at);
      if (is_transfer_word(action.word)) row.transfers[cells[at]].push_back(at);
    }
  }
  return row;
}

// A transfer that an actor needs, and what has to be in front of it, or behind.
struct Needed {
  std::string cell;
  Action action;
  Op op;                  // the producer of a send, the consumer of a receive
  std::size_t op_at = 0;  // its cell
  bool sends() const { return action.kind == ActionKind::Send; }
  bool stands_well(std::size_t at) const { return sends() ? at > op_at : at < op_at; }
};

// "0SEND_F3" names the stage that gave, "1RECV_F3" the one that takes.
std::string cell_of(bool sends, OpKind kind, const Op& op) {
  return fmt::format("{}{}_{}{}", op.stage, sends ? "SEND" : "RECV",
                     kind == OpKind::Forward ? 'F' : 'B', op.microbatch);
}

// By actor. `cells`: of each compute.
std::vector<std::vector<Needed>> needed_transfers(const Program& program,
                                                  const std::vector<std::size_t>& cells) {
  std::vector<std::vector<Needed>> needed(program.actions.size());
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    const Message& message = program.messages[i];
    const auto number = static_cast<std::int32_t>(i);
    const auto add = [&](ActionKind kind, std::int32_t actor, std::int32_t compute) {
      const Op& op = program.computes[index(compute)].op;
      needed[index(actor)].push_back({cell_of(kind == ActionKind::Send, message.kind, op),
                                      {kind, number},
                                      op,
                                      cells[index(compute)]});
    };
    add(ActionKind::Send, message.from, message.producer);
    add(ActionKind::Receive, message.to, message.consumer);
  }
  return needed;
}

// What is wrong with one actor's transfers, by cell.
class RowCheck {
 public:
  RowCheck(const Row& row, const std::vector<Needed>& needed, std::string where)
      : row_(row), needed_(needed), where_(std::move(where)) {}

  void run(std::vector<Problem>& problems) {
    std::map<std::string, const Needed*> by_cell;
    for (const Needed& each : needed_) {
      by_cell[each.cell] = &each;
      check(each);
    }
    for (const auto& [cell, places] : row_.transfers) {
      if (by_cell.contains(cell)) continue;
      for (const std::size_t at : places) {
        report(at, fmt::format("nobody needs {}", cell), "leave it out");
      }
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [at, problem] : found_) add_problem(problems, std::move(problem));
  }

 private:
  void check(const Needed& needed) {
    const auto found = row_.transfers.find(needed.cell);
    const std::string right_place = fmt::format(
        "put it {} {}", needed.sends() ? "behind" : "in front of", to_string(needed.op));
    if (found == row_.transfers.end()) {
      report(needed.op_at,
             fmt::format("{} {}, but {} is missing", to_string(needed.op),
                         needed.sends() ? "is needed by another actor" : "needs another actor's",
                         needed.cell),
             right_place);
      return;
    }
    const std::vector<std::size_t>& places = found->second;
    if (!needed.stands_well(places.front())) {
      report(places.front(),
             fmt::format("{} stands {} {}", needed.cell, needed.sends() ? "in front of" : "behind",
                         to_string(needed.op)),
             right_place);
    }
    for (std::size_t i = 1; i < places.size(); ++i) {
      report(places[i], fmt::format("{} is repeated", needed.cell),
             fmt::format("the first is cell {}", places.front() + 1));
    }
  }

  void report(std::size_t at, std::string what, std::string hint) {
    found_.emplace_back(
        at, Problem{fmt::format("{}, cell {}", where_, at + 1), std::move(what), std::move(hint)});
  }

  const Row& row_;
  const std::vector<Needed>& needed_;
  std::string where_;
  std::vector<std::pair<std::size_t, Problem>> found_;
};

// The actor's actions as its row has them.
std::vector<Action> in_order(const Row& row, const std::vector<Needed>& needed,
                             const std::vector<Action>& linear) {
  std::vector<std::pair<std::size_t, Action>> placed;  // by cell; a pair's computes share one
  for (const Action& action : linear) {
    if (action.kind == ActionKind::Compute) {
      placed.emplace_back(row.computes[placed.size()], action);
    }
  }
  for (const Needed& each : needed) {
    placed.emplace_back(row.transfers.at(each.cell).front(), each.action);
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Action> actions;
  for (const auto& [at, action] : placed) actions.push_back(action);
  return actions;
}

}  // namespace

bool has_transfers(const TorchTable& table) {
  return std::ranges::any_of(table.rows, [](const std::vector<std::string>& cells) {
    return !row_of(cells).transfers.empty();
  });
}

Program program_of(const TorchTable& table, const Schedule& schedule, const std::string& where) {
  Program program = lower(schedule, {.step_end = false});
  std::vector<Row> rows;
  std::vector<std::size_t> cells(program.computes.size());
  for (std::size_t actor = 0; actor < table.rows.size(); ++actor) {
    rows.push_back(row_of(table.rows[actor]));
    std::size_t computed = 0;
    for (const Action& action : program.actions[actor]) {
      if (action.kind == ActionKind::Compute) {
        cells[index(action.index)] = rows[actor].computes[computed++];
      }
    }
  }
  const std::vector<std::vector<Needed>> needed = needed_transfers(program, cells);
  std::vector<Problem> problems;
  for (std::size_t actor = 0; actor < rows.size(); ++actor) {
    RowCheck(rows[actor], needed[actor], fmt::format("{}:{}", where, actor + 1)).run(problems);
  }
  if (!problems.empty()) throw Error(std::move(problems));
  for (std::size_t actor = 0; actor < rows.size(); ++actor) {
    program.actions[actor] = in_order(rows[actor], needed[actor], program.actions[actor]);
  }
  return program;
}

}  // namespace penstock
