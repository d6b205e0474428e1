#include "rendezvous.h"

#include <vector>

namespace penstock {
namespace {

bool is_transfer(const Action& action) {
  return action.kind == ActionKind::Send || action.kind == ActionKind::Receive;
}

class Meeting {
 public:
  Meeting(const Program& program, Rendezvous rendezvous)
      : program_(program),
        rendezvous_(rendezvous),
        at_(program.actions.size(), 0),
        open_(program.actions.size(), 0),
        here_(program.messages.size(), 0) {}

  bool run() {
    std::vector<std::size_t> ready;
    for (std::size_t actor = 0; actor < at_.size(); ++actor) ready.push_back(actor);
    while (!ready.empty()) {
      const std::size_t actor = ready.back();
      ready.pop_back();
      advance(actor, ready);
    }
    for (std::size_t actor = 0; actor < at_.size(); ++actor) {
      if (open_[actor] != 0 || at_[actor] != program_.actions[actor].size()) return false;
    }
    return true;
  }

 private:
  // Runs `actor` up to and into its next transfers; REQUIRES: none of its transfers is open.
  void advance(std::size_t actor, std::vector<std::size_t>& ready) {
    const std::vector<Action>& actions = program_.actions[actor];
    std::size_t& at = at_[actor];
    while (at < actions.size() && !is_transfer(actions[at])) ++at;
    std::size_t end = at;
    while (end < actions.size() && is_transfer(actions[end])) {
      ++end;
      if (rendezvous_ == Rendezvous::OneByOne) break;
    }
    open_[actor] = static_cast<std::int32_t>(end - at);
    while (at < end) arrive(actions[at++], ready);
  }

  // The second end to arrive completes the transfer for both.
  void arrive(const Action& action, std::vector<std::size_t>& ready) {
    const auto index = static_cast<std::size_t>(action.index);
    if (++here_[index] < 2) return;
    const Message& message = program_.messages[index];
    for (const std::int32_t actor : {message.from, message.to}) {
      if (--open_[static_cast<std::size_t>(actor)] == 0) {
        ready.push_back(static_cast<std::size_t>(actor));
      }
    }
  }

  const Program& program_;
  const Rendezvous rendezvous_;
  std::vector<std::size_t> at_;     // by actor: the next action
  std::vector<std::int32_t> open_;  // by actor: started transfers that have not taken place
  std::vector<std::uint8_t> here_;  // by message: how many ends have arrived
};

}  // namespace

bool meets(const Program& program, Rendezvous rendezvous) {
  return Meeting(program, rendezvous).run();
}

}  // namespace penstock
