// File: sweep_times.h. When everything in an order runs, by one pass over it.
#pragma once

#include <cstdint>
#include <vector>

#include "instance.h"
#include "order.h"
#include "penstock/index.h"

namespace penstock {

// The place of an item: an actor and a position in its order.
struct Place {
  std::int32_t actor = 0;
  std::int32_t position = 0;
  bool operator==(const Place&) const = default;
};

// Equal to simulate() under asynchronous transfers, without the step's end. Keeps its buffers from
// one order to the next: time and memory linear in the number of nodes.
class SweepTimes {
 public:
  explicit SweepTimes(const Instance& instance);

  // False when the order deadlocks: then the times mean nothing.
  // REQUIRES: on each actor, inputs come before their users.
  bool sweep(const Order& order);

  Nanoseconds makespan() const { return makespan_; }
  Nanoseconds start(const Place& place) const { return at(start_, place); }
  Nanoseconds duration(const Place& place) const { return at(duration_, place); }
  Nanoseconds end(const Place& place) const { return start(place) + duration(place); }
  // When the last of the messages that the item awaits is there; 0: it awaits none.
  Nanoseconds arrival(const Place& place) const { return at(arrival_, place); }
  Nanoseconds arrival_of(std::int32_t node) const { return message_[index(node)]; }
  const Place& place_of(std::int32_t node) const { return place_[index(node)]; }
  // Every item, inputs before their users.
  const std::vector<Place>& sequence() const { return sequence_; }

  // The longest way from the start of the item, or from its end over its own messages, to the end
  // of all, busy channels left out. After sweep_back() alone.
  void sweep_back(const Order& order);
  Nanoseconds tail(const Place& place) const { return at(tail_, place); }
  Nanoseconds message_tail(const Place& place) const { return at(message_tail_, place); }

 private:
  using Lanes = std::vector<std::vector<Nanoseconds>>;  // [actor][position]

  static Nanoseconds at(const Lanes& lanes, const Place& place) {
    return lanes[index(place.actor)][index(place.position)];
  }
  void clear(const Order& order);
  bool advance(const Order& order, std::int32_t actor);
  void publish(std::int32_t node, Nanoseconds end);

  const Instance* instance_;
  Nanoseconds makespan_ = 0;
  Lanes start_;
  Lanes duration_;
  Lanes arrival_;
  Lanes tail_;
  Lanes message_tail_;
  std::vector<Nanoseconds> no_message_;  // by node: 0 where it awaits none, else never
  std::vector<Nanoseconds> message_;     // by node: when its message is there
  std::vector<Place> place_;             // by node
  std::vector<Nanoseconds> lane_;        // by actor: when it ended its last item
  std::vector<Nanoseconds> channel_;     // when it is free
  std::vector<std::int32_t> next_;       // by actor
  std::vector<std::int32_t> waits_for_;  // by actor: a node of its own without its message
  std::vector<std::int32_t> ready_;      // actors that may advance
  std::vector<Place> sequence_;
};

}  // namespace penstock
