// File: event_queue.h. What happens next, in the order of (time, number).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/costs.h"

namespace penstock {

// Either the compute lane of `actor` ended what it ran, or something of the p2p mode's own.
struct Event {
  Nanoseconds at;
  std::uint32_t number;  // counts pushes: the tie-break that makes every run the same
  std::int32_t subject;  // an actor whose lane is free; negative: the wire's, as ~subject

  bool operator>(const Event& other) const {
    return at != other.at ? at > other.at : number > other.number;
  }
};

// A binary heap. It never holds more than a few events per actor, so it stays in the first cache.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }

  void push_lane(Nanoseconds at, std::int32_t actor) { push({at, next_number_++, actor}); }
  void push_wire(Nanoseconds at, std::int32_t subject) { push({at, next_number_++, ~subject}); }

  // REQUIRES: !empty().
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  std::vector<Event> heap_;
  std::uint32_t next_number_ = 0;
};

}  // namespace penstock
