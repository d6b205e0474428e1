#include "lower/place.h"
#include "penstock/index.h"

namespace penstock {
namespace {

// Rewrites one actor's list after the other.
class Deferring {
 public:
  explicit Deferring(Program& program)
      : program_(program),
        held_from_(program.actions.size()),
        is_held_(program.messages.size(), 0) {}

  void rewrite(std::int32_t actor) {
    std::vector<Action>& linear = program_.actions[index(actor)];
    std::vector<Action> actions;
    actions.reserve(linear.size());
    for (std::size_t i = 0; i < linear.size(); ++i) {
      if (linear[i].kind == ActionKind::Receive) {
        hold(linear[i].index);
        continue;
      }
      if (linear[i].kind == ActionKind::Send) {
        const std::int32_t peer = message(linear[i].index).to;
        if (actor < peer) receive_all(peer, actions);
      }
      visit_awaited(program_, linear, i, [&](std::int32_t awaited) { receive(awaited, actions); });
      actions.push_back(linear[i]);
    }
    linear = std::move(actions);
  }

 private:
  const Message& message(std::int32_t i) const { return program_.messages[index(i)]; }

  void hold(std::int32_t i) {
    is_held_[index(i)] = 1;
    held_from_[index(message(i).from)].push_back(i);
  }

  void receive(std::int32_t i, std::vector<Action>& actions) {
    std::uint8_t& held = is_held_[index(i)];
    if (held != 0) actions.push_back({ActionKind::Receive, i});
    held = 0;
  }

  void receive_all(std::int32_t peer, std::vector<Action>& actions) {
    std::vector<std::int32_t>& held = held_from_[index(peer)];
    for (const std::int32_t i : held) receive(i, actions);
    held.clear();
  }

  Program& program_;
  // By actor: messages from it whose receive was held back, some maybe received since.
  std::vector<std::vector<std::int32_t>> held_from_;
  std::vector<std::uint8_t> is_held_;  // by message
};

}  // namespace

// The rule of torch's _defer_recv_ops. Of two actors that send to each other the lower one receives
// first: that was meant to rule out deadlocks, and does not.
void place_deferred(Program& program) {
  Deferring deferring(program);
  for (std::size_t actor = 0; actor < program.actions.size(); ++actor) {
    deferring.rewrite(static_cast<std::int32_t>(actor));
  }
}

}  // namespace penstock
