// File: rendezvous_wire.h. Transfers that hold the compute lanes of both ends: p2p mode `blocking`.
#pragma once

#include <cstdint>
#include <vector>

#include "channels.h"
#include "engine.h"
#include "wire.h"

namespace penstock {

// A run of neighbouring transfers in an actor's list is one batch: the lane enters all of them at
// once and goes on when all are over. A transfer starts when both ends have entered it and its
// channel is free.
class RendezvousWire : public Wire {
 public:
  explicit RendezvousWire(const Program& program);

  bool reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) override;
  void handle(Engine& engine, std::int32_t message, Nanoseconds now) override;
  Waiting waits_for(const Engine& engine, std::int32_t actor, std::int32_t cursor,
                    std::int32_t message) const override;

 private:
  struct Batch {
    std::int32_t size = 0;  // 0: the actor is in none
    std::int32_t open = 0;  // transfers that are not over
  };

  struct Meeting {
    std::int32_t ends = 0;  // that have entered the transfer
    Nanoseconds sent = 0;   // when the sender entered it
  };

  void leave(Engine& engine, std::int32_t actor, Nanoseconds now);

  Channels channels_;
  std::vector<Batch> batches_;     // by actor
  std::vector<Meeting> meetings_;  // by message
};

}  // namespace penstock
