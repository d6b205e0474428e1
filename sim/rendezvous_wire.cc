#include "rendezvous_wire.h"

#include <span>

#include "penstock/index.h"

namespace penstock {
namespace {

// The neighbouring transfers from `cursor` on.
std::span<const Action> batch_at(const std::vector<Action>& list, std::int32_t cursor) {
  std::size_t end = index(cursor);
  while (end < list.size() && is_transfer(list[end].kind)) ++end;
  return std::span(list).subspan(index(cursor), end - index(cursor));
}

}  // namespace

RendezvousWire::RendezvousWire(const Program& program)
    : channels_(program.actions.size()),
      batches_(program.actions.size()),
      meetings_(program.messages.size()) {}

bool RendezvousWire::reach(Engine& engine, std::int32_t actor, std::int32_t cursor,
                           Nanoseconds now) {
  const std::span<const Action> batch = batch_at(engine.actions(actor), cursor);
  const auto size = static_cast<std::int32_t>(batch.size());
  batches_[index(actor)] = {.size = size, .open = size};
  for (const Action& action : batch) {
    Meeting& meeting = meetings_[index(action.index)];
    if (action.kind == ActionKind::Send) meeting.sent = now;
    if (++meeting.ends < 2) continue;
    const Message& message = engine.message(action.index);
    const MessagePrice& price = engine.price(action.index);
    const Nanoseconds start = channels_.take(message.from, message.to, now, price.occupancy);
    const Nanoseconds end = start + price.occupancy + price.latency;
    engine.deliver(action.index, meeting.sent, start, end);
    engine.events().push_wire(end, action.index);
  }
  return false;
}

void RendezvousWire::handle(Engine& engine, std::int32_t message, Nanoseconds now) {
  leave(engine, engine.message(message).from, now);
  leave(engine, engine.message(message).to, now);
}

void RendezvousWire::leave(Engine& engine, std::int32_t actor, Nanoseconds now) {
  Batch& batch = batches_[index(actor)];
  if (--batch.open == 0) engine.release(actor, batch.size, now);
}

Wire::Waiting RendezvousWire::waits_for(const Engine& engine, std::int32_t actor,
                                        std::int32_t cursor, std::int32_t message) const {
  if (message >= 0) return {message, engine.message(message).from};
  for (const Action& action : batch_at(engine.actions(actor), cursor)) {
    if (meetings_[index(action.index)].ends == 2) continue;
    const Message& open = engine.message(action.index);
    return {action.index, open.from == actor ? open.to : open.from};
  }
  return {};
}

}  // namespace penstock
