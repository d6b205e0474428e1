#include "stream_wire.h"

#include "penstock/index.h"

namespace penstock {

StreamWire::StreamWire(const Program& program)
    : streams_(program.actions.size()), sent_(program.messages.size(), kNever) {
  for (std::size_t actor = 0; actor < streams_.size(); ++actor) {
    advance(program, static_cast<std::int32_t>(actor));
  }
}

// To the next transfer of the actor's list.
void StreamWire::advance(const Program& program, std::int32_t actor) {
  const std::vector<Action>& list = program.actions[index(actor)];
  const auto size = static_cast<std::int32_t>(list.size());
  Stream& stream = this->stream(actor);
  stream.busy = false;
  do ++stream.cursor;
  while (stream.cursor < size && !is_transfer(list[index(stream.cursor)].kind));
  stream.head = stream.cursor < size ? list[index(stream.cursor)].index : -1;
}

bool StreamWire::reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) {
  const Action& action = engine.actions(actor)[index(cursor)];
  if (action.kind == ActionKind::Receive) return true;  // the stream has its own pace
  sent_[index(action.index)] = now;
  try_head(engine, actor, now);
  return true;
}

// Starts the transfer at the head of `actor`'s stream if it can start.
void StreamWire::try_head(Engine& engine, std::int32_t actor, Nanoseconds now) {
  const std::int32_t head = stream(actor).head;
  if (head < 0 || sent_[index(head)] == kNever) return;
  const Message& message = engine.message(head);
  Stream& from = stream(message.from);
  Stream& to = stream(message.to);
  if (from.head != head || to.head != head || from.busy || to.busy) return;
  from.busy = true;
  to.busy = true;
  const MessagePrice& price = engine.price(head);
  const Nanoseconds left = now + price.occupancy;
  engine.events().push_wire(left, message.from);
  engine.events().push_wire(left + price.latency, message.to);
  engine.deliver(head, sent_[index(head)], now, left + price.latency);
}

void StreamWire::handle(Engine& engine, std::int32_t actor, Nanoseconds now) {
  advance(engine.program(), actor);
  try_head(engine, actor, now);
}

// A message that was sent queues behind the head of one of its ends.
Wire::Waiting StreamWire::waits_for(const Engine& engine, std::int32_t, std::int32_t,
                                    std::int32_t message) const {
  const Message& wanted = engine.message(message);
  if (sent_[index(message)] == kNever) return {message, wanted.from};
  const std::int32_t end = stream(wanted.to).head != message ? wanted.to : wanted.from;
  const std::int32_t head = stream(end).head;
  const Message& ahead = engine.message(head);
  return {head, ahead.from == end ? ahead.to : ahead.from};
}

}  // namespace penstock
