// File: shift.h. One change of an order: an item moves within its actor's list.
#pragma once

#include <cstdint>
#include <vector>

#include "instance.h"
#include "order.h"
#include "sweep_times.h"

namespace penstock {

// The item at `from` goes to `to`; those between move up or down by one.
struct Shift {
  std::int32_t actor = kNone;
  std::int32_t from = 0;
  std::int32_t to = 0;
};

// `items` is the order of the shift's actor. apply({actor, to, from}, items) undoes it.
void apply(const Shift& shift, std::vector<Item>& items);

// On the shift's actor, every input still comes before its user.
bool keeps_inputs(const Instance& instance, const std::vector<Item>& items, const Shift& shift);

// The actor still holds no more than its limit. REQUIRES: it does before the shift; `held` is what
// it holds before the first of what moves (held_before).
bool keeps_limit(const Instance& instance, const Order& order, const Shift& shift,
                 const Room& held);

// What the actor holds before each of its items.
std::vector<Room> held_before(const Instance& instance, const Order& order, std::int32_t actor);

// Estimates what a shift brings without pricing the order anew. Keeps its buffer.
class ShiftEstimate {
 public:
  // The longest way through what moves, from the heads and tails of all else as they are now. The
  // makespan is at least that, unless something that moves reaches something else that does over
  // other actors (Taillard, ORSA Journal on Computing 6(2), 1994).
  // REQUIRES: `times` has swept `order`, and back.
  Nanoseconds of(const Order& order, const SweepTimes& times, const Shift& shift);

 private:
  struct Moved {
    Place place;
    Nanoseconds head = 0;
  };
  std::vector<Moved> moved_;
};

}  // namespace penstock
