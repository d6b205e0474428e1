// File: stream_wire.h. All transfers of an actor in one FIFO: p2p mode `single_stream`.
#pragma once

#include <vector>

#include "engine.h"
#include "wire.h"

namespace penstock {

// Sends and receives of an actor queue in the order of its list, as on one communication stream of
// a GPU. A transfer starts when it is sent and at the head of both ends' streams. The sender's
// stream goes on when the bytes have left, the receiver's when they have arrived.
class StreamWire : public Wire {
 public:
  explicit StreamWire(const Program& program);

  bool reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) override;
  void handle(Engine& engine, std::int32_t subject, Nanoseconds now) override;
  Waiting waits_for(const Engine& engine, std::int32_t actor, std::int32_t cursor,
                    std::int32_t message) const override;

 private:
  struct Stream {
    std::int32_t cursor = -1;  // the action at its head
    std::int32_t head = -1;    // that action's message, -1 behind the last
    bool busy = false;         // the head is on its way
  };

  void advance(const Program& program, std::int32_t actor);
  void try_head(Engine& engine, std::int32_t actor, Nanoseconds now);
  Stream& stream(std::int32_t actor) { return streams_[static_cast<std::size_t>(actor)]; }
  const Stream& stream(std::int32_t actor) const {
    return streams_[static_cast<std::size_t>(actor)];
  }

  std::vector<Stream> streams_;    // by actor
  std::vector<Nanoseconds> sent_;  // by message: when its producer handed it over, or kNever
};

}  // namespace penstock
