// What to say when the actors wait for one another.
#include <fmt/format.h>

#include "engine.h"
#include "penstock/index.h"

namespace penstock {

// What keeps an actor from going on.
struct Engine::Wait {
  std::int32_t message = -1;  // a transfer, -1: a meeting or room in a queue
  std::int32_t actor = -1;    // who has to move first
  std::int32_t room = -1;     // the compute that has to start first
};

Engine::Wait Engine::wait_of(std::int32_t actor) const {
  const Lane& lane = lanes_[index(actor)];
  const Action& action = actions(actor)[index(lane.cursor)];
  if (action.kind == ActionKind::AwaitRoom) {
    const std::int32_t room = program_->computes[index(action.index)].room;
    return {-1, program_->computes[index(room)].actor, room};
  }
  if (action.kind == ActionKind::Compute || action.kind == ActionKind::Send ||
      action.kind == ActionKind::Receive) {
    const Wire::Waiting waiting = wire_->waits_for(*this, actor, lane.cursor, lane.awaits);
    return {waiting.message, waiting.actor};
  }
  if (action.kind == ActionKind::NormReceive) return {-1, actor - 1};
  if (action.kind == ActionKind::Verdict) {
    return {-1, static_cast<std::int32_t>(lanes_.size()) - 1};
  }
  // Whoever shares the meeting and has not come.
  const std::size_t here = meeting_of(action);
  for (std::int32_t other = 0; other < static_cast<std::int32_t>(lanes_.size()); ++other) {
    if (finished(other) || other == actor) continue;
    const std::int32_t cursor = lanes_[index(other)].cursor;
    const Action& at = actions(other)[index(cursor)];
    if (at.kind != action.kind || meeting_of(at) != here) return {-1, other};
  }
  return {};
}

std::string Engine::text_of(std::int32_t actor, const Wait& wait) const {
  if (wait.actor < 0) return fmt::format("actor {} cannot go on", actor);
  if (wait.room >= 0) {
    return fmt::format("actor {} waits for actor {} to start {}, until when its queue is full",
                       actor, wait.actor, to_string(program_->computes[index(wait.room)].op));
  }
  if (wait.message < 0) {
    return fmt::format("actor {} waits for actor {} at the step's end", actor, wait.actor);
  }
  const Message& message = this->message(wait.message);
  const Op& op = program_->computes[index(message.producer)].op;
  const std::string_view what = tensor_name(message.kind);
  if (message.to == wait.actor) {
    return fmt::format("actor {} waits for actor {} to receive the {} of {}", actor, wait.actor,
                       what, to_string(op));
  }
  return fmt::format("actor {} waits for actor {} to send the {} of {}", actor, wait.actor, what,
                     to_string(op));
}

// Follows who waits for whom until somebody comes up again: the ring.
Error Engine::stuck() const {
  std::int32_t actor = 0;
  while (finished(actor)) ++actor;
  std::vector<std::int32_t> path;
  std::vector<bool> seen(lanes_.size());
  while (actor >= 0 && !finished(actor) && !seen[index(actor)]) {
    seen[index(actor)] = true;
    path.push_back(actor);
    actor = wait_of(actor).actor;
  }
  std::size_t first = 0;
  while (first + 1 < path.size() && path[first] != actor && actor >= 0) ++first;
  std::string ring;
  for (std::size_t i = first; i < path.size(); ++i) {
    if (!ring.empty()) ring += "; ";
    ring += text_of(path[i], wait_of(path[i]));
  }
  return Error(fmt::format("schedule '{}'", program_->schedule.name),
               "the transfers deadlock: " + ring, "use the linear lowering, or async transfers");
}

}  // namespace penstock
