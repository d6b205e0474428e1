#include "async_wire.h"

namespace penstock {

bool AsyncWire::reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) {
  const Action& action = engine.actions(actor)[static_cast<std::size_t>(cursor)];
  if (action.kind == ActionKind::Receive) return true;
  const MessagePrice& price = engine.price(action.index);
  Nanoseconds start = now;
  if (engine.prices().limits_bandwidth()) {
    start = channels_.take(actor, engine.receiver(action.index), now, price.occupancy);
  }
  engine.deliver(action.index, now, start, start + price.occupancy + price.latency);
  return true;
}

Wire::Waiting AsyncWire::waits_for(const Engine& engine, std::int32_t, std::int32_t,
                                   std::int32_t message) const {
  return {.message = message, .actor = engine.message(message).from};
}

}  // namespace penstock
