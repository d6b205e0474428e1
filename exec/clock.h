// File: clock.h. CLOCK_MONOTONIC: one clock for all processes of a host.
#pragma once

#include <ctime>

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

// Sleeps, then spins for the last part: late by well under a microsecond on an idle core.
inline void wait_until(Nanoseconds time, Nanoseconds spin) {
  if (time - now() > spin) sleep_until(time - spin);
  while (now() < time) {
  }
}

}  // namespace penstock
