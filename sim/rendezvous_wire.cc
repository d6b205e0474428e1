#include "rendezvous_wire.h"

#include <span>

namespace penstock {
namespace {

// The neighbouring transfers from `cursor` on.
std::span<const Action> batch_at(const std::vector<Action>& list, std::int32_t cursor) {
  std::size_t end = static_cast<std::size_t>(cursor);
  while (end < list.size() &&
         (list[end].kind == ActionKind::Send || list[end].kind == ActionKind::Receive)) {
    ++end;
  }
  return std::span(list).subspan(static_cast<std::size_t>(cursor),
                                 end - static_cast<std::size_t>(cursor));
}

}  // namespace

RendezvousWire::RendezvousWire(const Program& program)
    : channels_(program.actions.size()),
      batches_(program.actions.size()),
      ends_in_(program.messages.size(), 0) {}

bool RendezvousWire::reach(Engine& engine, std::int32_t actor, std::int32_t cursor,
                           Nanoseconds now) {
  const std::span<const Action> batch = batch_at(engine.actions(actor), cursor);
  const auto size = static_cast<std::int32_t>(batch.size());
  batches_[static_cast<std::size_t>(actor)] = {.size = size, .open = size};
  for (const Action& action : batch) {
    if (action.kind == ActionKind::Send) engine.sent(action.index, now);
    if (++ends_in_[static_cast<std::size_t>(action.index)] < 2) continue;
    const Message& message = engine.message(action.index);
    const MessagePrice& price = engine.price(action.index);
    const Nanoseconds start = channels_.take(message.from, message.to, now, price.occupancy);
    const Nanoseconds end = start + price.occupancy + price.latency;
    engine.deliver(action.index, start, end, now);
    engine.events().push(end, EventKind::Wire, action.index);
  }
  return false;
}

void RendezvousWire::handle(Engine& engine, std::int32_t message, Nanoseconds now) {
  leave(engine, engine.message(message).from, now);
  leave(engine, engine.message(message).to, now);
}

void RendezvousWire::leave(Engine& engine, std::int32_t actor, Nanoseconds now) {
  Batch& batch = batches_[static_cast<std::size_t>(actor)];
  if (--batch.open == 0) engine.release(actor, batch.size, now);
}

Wire::Waiting RendezvousWire::waits_for(const Engine& engine, std::int32_t actor,
                                        std::int32_t cursor, std::int32_t message) const {
  if (message >= 0) return {message, engine.message(message).from};
  for (const Action& action : batch_at(engine.actions(actor), cursor)) {
    if (ends_in_[static_cast<std::size_t>(action.index)] == 2) continue;
    const Message& open = engine.message(action.index);
    return {action.index, open.from == actor ? open.to : open.from};
  }
  return {};
}

}  // namespace penstock
