// File: clock.h. CLOCK_MONOTONIC: one clock for all processes of a host.
#pragma once

#include <ctime>
#include <sched.h>

#include "penstock/costs.h"

namespace penstock {

inline Nanoseconds now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Sleeps, takes no CPU; wakes tens of microseconds late.
inline void sleep_until(Nanoseconds time) {
  const timespec t{.tv_sec = time / 1'000'000'000, .tv_nsec = time % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
  }
}

// Sleeps, then spins for the last part: late by well under a microsecond on an idle core. Yielding
// lets others who spin on the same core see their time, too: with 8 actors on 2 cores, whose ops
// end at the same moments, it halves how late they are.
inline void wait_until(Nanoseconds time, Nanoseconds spin) {
  if (time - now() > spin) sleep_until(time - spin);
  while (now() < time) sched_yield();
}

}  // namespace penstock
