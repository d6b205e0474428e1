// File: transport.h. How actors exchange tensors: the first of the executor's two seams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/op.h"

namespace penstock {

// A transfer under way. A send's ticket is valid until wait() or a test() that returned true; a
// receive's until release().
struct Ticket {
  std::int32_t slot = -1;
};

// A channel that will be used: announced before the first step, so that every buffer exists by
// then. Messages are matched by (from, to, kind, number).
struct Channel {
  std::int32_t from = 0;
  std::int32_t to = 0;
  OpKind kind = OpKind::Forward;  // Forward: activations; Backward: gradients
  std::int64_t bytes = 0;         // of its largest message
  std::int32_t pending = 0;       // most receives posted and not yet released at once
};

// What each actor does, for reports of hangs: names[actor][action], "3B1 needs the gradient of
// 4B1 from actor 2".
using ActionNames = std::vector<std::vector<std::string>>;

// One object per actor, used by that actor's thread only. Numbers count from 0 in each channel, in
// the order in which they are sent, and go on over steps.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::int32_t actor() const = 0;
  virtual std::int32_t actors() const = 0;
  // Actors outnumber the cores of this host: who waits must sleep, not spin.
  virtual bool crowded() const = 0;

  // Collective, once, before the first send or receive: allocates every buffer and warms up.
  // Everybody passes the same lists.
  virtual void open(std::span<const Channel> channels, const ActionNames& names) = 0;

  // Starts a send. Returns at once (but for a transport made to test rendezvous). `bytes` must stay
  // as they are until the ticket is done; nobody needs to wait for that inside the schedule.
  virtual Ticket send(std::int32_t to, OpKind kind, std::int64_t number,
                      std::span<const std::byte> bytes) = 0;

  // Posts a receive of `bytes` bytes into a buffer of the channel's pool; returns at once likewise.
  virtual Ticket receive(std::int32_t from, OpKind kind, std::int64_t number,
                         std::int64_t bytes) = 0;
  // The message. REQUIRES: done, not released. Aligned for any scalar.
  virtual std::span<const std::byte> data(Ticket receive) const = 0;
  // The buffer goes back to the pool.
  virtual void release(Ticket receive) = 0;

  // True when done; never blocks. Makes progress on everything under way.
  virtual bool test(Ticket ticket) = 0;
  // Sleeps between tests when actors outnumber cores: a waiting actor takes no CPU from a working
  // one. Throws when the run has failed.
  virtual void wait(Ticket ticket) = 0;

  // Every actor's `mine` (equal sizes), in actor order, into `all`. Collective; also before open().
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  virtual void barrier() = 0;

  // This actor is at names[actor()][action] now. Costs nanoseconds.
  virtual void at(std::int32_t action) = 0;
  // Ends the run: every actor's wait and collective throws the first such error (an Error or a
  // RunError, as it was).
  virtual void fail(const Error& error) = 0;
};

}  // namespace penstock
