// torch's _add_send_recv (torch/distributed/pipelining/schedules.py), cell for cell: actors in turn
// take their next cell when its input is there; a producer puts its send behind itself and at once
// the receive on the peer.
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "formats/readers.h"
#include "formats/torch_cell.h"

namespace penstock {
namespace {

// What an actor has, as (stage, microbatch, is it a gradient).
using Key = std::uint64_t;

Key key(std::int32_t stage, std::int32_t microbatch, bool gradient) {
  return (static_cast<Key>(stage) << 33) | (static_cast<Key>(microbatch) << 1) |
         static_cast<Key>(gradient);
}

class Rows {
 public:
  Rows(const TorchTable& compute, std::vector<std::int32_t> home)
      : input_(compute),
        home_(std::move(home)),
        next_(compute.rows.size(), 0),
        waits_(compute.rows.size(), 0),
        done_(compute.rows.size()),
        received_(compute.rows.size()) {
    output_.rows.resize(compute.rows.size());
    for (std::size_t actor = 0; actor < next_.size(); ++actor) {
      if (!input_.rows[actor].empty()) next_turns_.insert(actor);
    }
  }

  // Gives every actor one turn, in order; false when none can use another one. Who waits is passed
  // over until something arrives.
  bool take_turns() {
    turns_.swap(next_turns_);
    while (!turns_.empty()) {
      const std::size_t actor = *turns_.begin();
      turns_.erase(turns_.begin());
      waits_[actor] = missing_input(actor) ? 1 : 0;
      if (waits_[actor] != 0) continue;
      take(actor);
      if (next_[actor] < input_.rows[actor].size()) next_turns_.insert(actor);
    }
    return !next_turns_.empty();
  }

  std::vector<Problem> waiting() const {
    std::vector<Problem> problems;
    for (std::size_t actor = 0; actor < next_.size(); ++actor) {
      if (next_[actor] == input_.rows[actor].size()) continue;
      problems.push_back({fmt::format("actor {}, position {}", actor, next_[actor]),
                          fmt::format("{} waits for {}", input_.rows[actor][next_[actor]],
                                      to_string(*missing_input(actor))),
                          {}});
    }
    return problems;
  }

  TorchTable output() && { return std::move(output_); }

 private:
  std::vector<TorchAction> next_actions(std::size_t actor) const {
    return *parse_cell(input_.rows[actor][next_[actor]]);
  }

  // The producer of an input that `actor`'s next cell lacks.
  std::optional<Op> missing_input(std::size_t actor) const {
    for (const TorchAction& action : next_actions(actor)) {
      const auto kind = compute_kind(action.word);
      if (!kind || *kind == OpKind::BackwardWeight) continue;
      const bool gradient = gives_input_gradient(*kind);
      const std::int32_t producer = action.stage + (gradient ? 1 : -1);
      if (producer < 0 || producer == static_cast<std::int32_t>(home_.size())) continue;
      if (received_[actor].contains(key(action.stage, action.microbatch, gradient)) ||
          done_[actor].contains(key(producer, action.microbatch, gradient))) {
        continue;
      }
      return Op{gradient ? OpKind::Backward : OpKind::Forward, producer, action.microbatch, 0};
    }
    return std::nullopt;
  }

  void take(std::size_t actor) {
    const std::vector<TorchAction> actions = next_actions(actor);
    const std::string& cell = input_.rows[actor][next_[actor]++];
    if (!actions.empty()) output_.rows[actor].push_back(cell);
    for (const TorchAction& action : actions) {
      const auto kind = compute_kind(action.word);
      if (!kind || *kind == OpKind::BackwardWeight) continue;
      const bool gradient = gives_input_gradient(*kind);
      done_[actor].insert(key(action.stage, action.microbatch, gradient));
      send(actor, action, gradient);
    }
  }

  void send(std::size_t actor, const TorchAction& action, bool gradient) {
    const std::int32_t consumer = action.stage + (gradient ? -1 : 1);
    if (consumer < 0 || consumer == static_cast<std::int32_t>(home_.size())) return;
    const auto peer = static_cast<std::size_t>(home_[static_cast<std::size_t>(consumer)]);
    if (peer == static_cast<std::size_t>(home_[static_cast<std::size_t>(action.stage)])) return;
    const char letter = gradient ? 'B' : 'F';
    output_.rows[actor].push_back(
        fmt::format("{}SEND_{}{}", action.stage, letter, action.microbatch));
    output_.rows[peer].push_back(fmt::format("{}RECV_{}{}", consumer, letter, action.microbatch));
    received_[peer].insert(key(consumer, action.microbatch, gradient));
    if (std::exchange(waits_[peer], 0) != 0) (peer > actor ? turns_ : next_turns_).insert(peer);
  }

  const TorchTable& input_;
  std::vector<std::int32_t> home_;  // actor of each stage
  std::vector<std::size_t> next_;   // position of each actor in its row
  std::vector<std::uint8_t> waits_;
  std::set<std::size_t> turns_;       // who has a turn in this round
  std::set<std::size_t> next_turns_;  // and in the next
  std::vector<std::unordered_set<Key>> done_;
  std::vector<std::unordered_set<Key>> received_;
  TorchTable output_;
};

void refuse_communication(const TorchTable& table) {
  for (std::size_t actor = 0; actor < table.rows.size(); ++actor) {
    for (std::size_t position = 0; position < table.rows[actor].size(); ++position) {
      const std::string& cell = table.rows[actor][position];
      if (cell.find("SEND_") == std::string::npos && cell.find("RECV_") == std::string::npos) {
        continue;
      }
      throw Error(fmt::format("actor {}, position {}", actor, position),
                  fmt::format("the table has {} and its like already", cell),
                  "sends and receives are added to a table of computes");
    }
  }
}

}  // namespace

TorchTable add_send_recv(const TorchTable& compute) {
  refuse_communication(compute);
  std::vector<std::int32_t> home;
  for (const Stage& stage : schedule_of(compute, "table").pipeline.stages) {
    home.push_back(stage.actor);
  }
  Rows rows(compute, std::move(home));
  while (rows.take_turns()) {
  }
  if (auto problems = rows.waiting(); !problems.empty()) throw Error(std::move(problems));
  return std::move(rows).output();
}

}  // namespace penstock
