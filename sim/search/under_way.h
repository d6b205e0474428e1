// File: under_way.h. The microbatches that have begun and not ended, and what they hold.
#pragma once

#include <cstdint>
#include <vector>

#include "instance.h"
#include "penstock/index.h"

namespace penstock {

// Keeps a growing order out of dead ends: a microbatch that has begun must be able to end. With one
// stage per actor the limits alone see to that (whatever a stage holds was let through by all
// before it); otherwise a forward opens only if the microbatches under way can still end one after
// the other, the oldest first (Dijkstra's banker).
class UnderWay {
 public:
  // most_parts[actor] bounds the actor beside the instance's limit; empty: it does not.
  UnderWay(const Instance& instance, const std::vector<std::int64_t>& most_parts);

  // The actor's limits allow it, or both.  REQUIRES: they are on one actor.
  bool has_room(std::int32_t unit) const;
  bool has_room_for(std::int32_t unit, std::int32_t other) const;
  // And so do all the microbatches under way.
  bool may_open(std::int32_t unit) const;
  bool has_begun(std::int32_t microbatch) const { return has_begun_[index(microbatch)] != 0; }
  // What one actor opens or closes can change what another may open.
  bool concerns_all() const { return can_corner_; }
  void open(std::int32_t unit);
  // An op of the unit has ended that frees `room`; the unit's last one.
  void free(std::int32_t unit, const Room& room);
  void close(std::int32_t unit);

 private:
  // One microbatch on one actor.
  struct Share {
    Room held;
    Room unopened;
  };

  Share& share(std::int32_t unit);
  bool all_can_end(std::int32_t unit) const;

  const Instance* instance_;
  std::vector<Room> limit_;             // by actor
  std::vector<Room> held_;              // by actor
  bool can_corner_ = false;             // several stages on one actor
  std::vector<Share> shares_;           // by microbatch and actor
  std::vector<std::int32_t> unclosed_;  // by microbatch: its units that are not closed
  std::vector<std::int32_t> begun_;     // microbatches under way, the oldest first
  std::vector<char> has_begun_;         // by microbatch: it is, or has been
  std::vector<Room> unopened_;          // by actor: of the microbatches under way
  mutable std::vector<Room> free_;      // what all_can_end() counts with
  mutable std::vector<Room> rest_;
};

}  // namespace penstock
