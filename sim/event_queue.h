// File: event_queue.h. What happens next, in the order of (time, number).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/costs.h"

namespace penstock {

enum class EventKind : std::uint32_t {
  LaneFree,  // subject: the actor whose compute lane ended what it ran
  Wire       // subject: the wire's own
};

struct Event {
  Nanoseconds at;
  std::uint32_t number;  // counts pushes: the tie-break that makes every run the same
  EventKind kind : 1;
  std::uint32_t subject : 31;

  bool operator>(const Event& other) const {
    return at != other.at ? at > other.at : number > other.number;
  }
};

// A binary heap. It never holds more than a few events per actor, so it stays in the first cache.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }

  void push(Nanoseconds at, EventKind kind, std::int32_t subject) {
    heap_.push_back(Event{at, next_number_++, kind, static_cast<std::uint32_t>(subject)});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  // REQUIRES: !empty().
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  std::vector<Event> heap_;
  std::uint32_t next_number_ = 0;
};

}  // namespace penstock
