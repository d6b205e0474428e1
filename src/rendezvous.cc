#include "rendezvous.h"

#include <cstdint>
#include <vector>

#include "penstock/index.h"

namespace penstock {
namespace {

class Meeting {
 public:
  Meeting(const Program& program, TransportKind kind)
      : program_(program),
        grouped_(kind == TransportKind::Grouped),
        at_(program.actions.size(), 0),
        open_(program.actions.size(), 0),
        here_(program.messages.size(), 0) {
    for (const Compute& compute : program.computes) has_queues_ |= compute.room >= 0;
    if (!has_queues_) return;
    started_.resize(program.computes.size(), 0);
    waiter_.resize(program.computes.size(), kNobody);
  }

  // Goes as far as the transfers take place.
  void run() {
    std::vector<std::int32_t> ready;
    for (std::size_t actor = 0; actor < at_.size(); ++actor) {
      ready.push_back(static_cast<std::int32_t>(actor));
    }
    while (!ready.empty()) {
      const std::int32_t actor = ready.back();
      ready.pop_back();
      advance(actor, ready);
    }
  }

  // From the lowest actor that waits along the waits until an actor comes again.
  std::vector<StuckActor> ring() const {
    std::int32_t actor = 0;
    while (index(actor) < open_.size() && ended(actor)) ++actor;
    if (index(actor) == open_.size()) return {};
    std::vector<StuckActor> path;
    std::vector<std::size_t> place(open_.size(), 0);  // by actor: 1 + its place on the path
    while (place[index(actor)] == 0) {
      path.push_back(stuck(actor));
      place[index(actor)] = path.size();
      actor = path.back().peer;
    }
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(place[index(actor)]) - 1);
    return path;
  }

 private:
  static constexpr std::int32_t kNobody = -1;

  // Runs `actor` up to and into its next transfers, or to a wait for room.
  // REQUIRES: none of its transfers is open.
  void advance(std::int32_t actor, std::vector<std::int32_t>& ready) {
    const std::vector<Action>& actions = program_.actions[index(actor)];
    std::size_t& at = at_[index(actor)];
    while (at < actions.size() && !is_transfer(actions[at].kind)) {
      if (has_queues_ && !passes(actor, actions[at], ready)) return;
      ++at;
    }
    std::size_t end = at;
    while (end < actions.size() && is_transfer(actions[end].kind)) {
      ++end;
      if (!grouped_) break;
    }
    open_[index(actor)] = static_cast<std::int32_t>(end - at);
    while (at < end) arrive(actions[at++], ready);
  }

  // Notes that an op starts; false at an AwaitRoom that has to wait.
  bool passes(std::int32_t actor, const Action& action, std::vector<std::int32_t>& ready) {
    if (action.kind == ActionKind::Compute) {
      started_[index(action.index)] = 1;
      const std::int32_t waiter = waiter_[index(action.index)];
      if (waiter != kNobody) ready.push_back(waiter);
    }
    if (action.kind != ActionKind::AwaitRoom) return true;
    const std::int32_t room = program_.computes[index(action.index)].room;
    if (started_[index(room)] == 0) waiter_[index(room)] = actor;
    return started_[index(room)] != 0;
  }

  // The second end to arrive completes the transfer for both.
  void arrive(const Action& action, std::vector<std::int32_t>& ready) {
    if (++here_[index(action.index)] < 2) return;
    const Message& message = program_.messages[index(action.index)];
    for (const std::int32_t actor : {message.from, message.to}) {
      if (--open_[index(actor)] == 0) ready.push_back(actor);
    }
  }

  bool ended(std::int32_t actor) const {
    return open_[index(actor)] == 0 && at_[index(actor)] == program_.actions[index(actor)].size();
  }

  // The first of the open transfers of `actor` that lacks its other end, or its wait for room.
  StuckActor stuck(std::int32_t actor) const {
    const std::vector<Action>& actions = program_.actions[index(actor)];
    if (open_[index(actor)] == 0) return without_room(actor, actions[at_[index(actor)]]);
    std::size_t at = at_[index(actor)] - 1;
    std::size_t first = at;
    for (;; --at) {
      if (here_[index(actions[at].index)] < 2) first = at;
      if (!grouped_ || at == 0 || !is_transfer(actions[at - 1].kind)) break;
    }
    const Message& message = program_.messages[index(actions[first].index)];
    return {.actor = actor,
            .action = static_cast<std::int32_t>(first),
            .peer = message.from == actor ? message.to : message.from};
  }

  StuckActor without_room(std::int32_t actor, const Action& action) const {
    const std::int32_t room = program_.computes[index(action.index)].room;
    return {.actor = actor,
            .action = static_cast<std::int32_t>(at_[index(actor)]),
            .peer = program_.computes[index(room)].actor};
  }

  const Program& program_;
  const bool grouped_;
  std::vector<std::size_t> at_;     // by actor: the next action
  std::vector<std::int32_t> open_;  // by actor: started transfers that have not taken place
  std::vector<std::uint8_t> here_;  // by message: how many ends have arrived
  bool has_queues_ = false;
  std::vector<std::uint8_t> started_;  // with queues, by compute
  std::vector<std::int32_t> waiter_;   // with queues, by compute: the actor that it lets go on
};

}  // namespace

std::vector<StuckActor> rendezvous_ring(const Program& program, TransportKind kind) {
  Meeting meeting(program, kind);
  meeting.run();
  return meeting.ring();
}

}  // namespace penstock
