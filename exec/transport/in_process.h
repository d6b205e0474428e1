// File: in_process.h. Actors as threads of one process: the transport of the tests and of a run
// without mpirun.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "transport/transport.h"

namespace penstock {

struct InProcessOptions {
  // Each message arrives after a delay drawn uniformly from [0, longest_delay] by (seed, message).
  std::uint64_t seed = 0;
  std::chrono::microseconds longest_delay{0};
  // Every transfer is a rendezvous: send() blocks until the receive is posted, receive() until the
  // send is there.
  bool rendezvous = false;
};

// Runs fn once per actor, each on a thread of its own with a transport of its own, and returns when
// all have returned. When all actors that still run are blocked for good, each of them gets a
// RunError that tells every actor's action and the message it lacks: detected at once, without a
// timeout. Rethrows the first exception.
//   with_actors(4, [](Transport& transport) { ... });
void with_actors(std::int32_t actors, const std::function<void(Transport&)>& fn,
                 const InProcessOptions& options = {});

}  // namespace penstock
