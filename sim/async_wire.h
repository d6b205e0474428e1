// File: async_wire.h. Transfers beside the computation: p2p mode `async`.
#pragma once

#include "channels.h"
#include "engine.h"
#include "wire.h"

namespace penstock {

// A message goes on its channel as soon as it is sent and the channel is free. Messages enter a
// channel in the order of time, so its arrival is known at once and needs no event.
class AsyncWire : public Wire {
 public:
  explicit AsyncWire(std::size_t actors) : channels_(actors) {}

  bool reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) override;
  void handle(Engine&, std::int32_t, Nanoseconds) override {}
  Waiting waits_for(const Engine& engine, std::int32_t actor, std::int32_t cursor,
                    std::int32_t message) const override;

 private:
  Channels channels_;
};

}  // namespace penstock
