// File: rooms.h. Bounded queues between stages: who waits for room hears from the next stage's
// actor that it has taken an activation out.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/program.h"
#include "transport/transport.h"

namespace penstock {

// Channels over which actors tell each other that a forward has started: kind Recompute, from the
// next stage's actor to the one before. Each holds as many notes as the queues let be under way.
std::vector<Channel> room_channels(const Program& program);

// One actor's side. REQUIRES: the references outlive the object. One thread.
class Rooms {
 public:
  Rooms(const Program& program, Transport& transport);

  // Compute `compute` starts: tells the actor that waits for that, if one does.
  void started(std::int32_t compute, std::int64_t step);
  // Returns when Compute::room of `compute` has started. REQUIRES: it has one.
  void await(std::int32_t compute, std::int64_t step);
  // Waits until all that was told has left.
  void finish();

 private:
  struct Note {
    std::int32_t peer = -1;     // -1: none
    std::int32_t number = 0;    // in its channel, in one step
    std::int32_t per_step = 0;  // notes of the channel
    std::int64_t in(std::int64_t step) const { return step * per_step + number; }
  };

  Transport& transport_;
  std::vector<Note> told_;     // by compute: when it starts
  std::vector<Note> awaited_;  // by compute: at its end
  std::vector<Ticket> sends_;
};

}  // namespace penstock
