// File: transport.h. How actors exchange tensors: the first of the executor's two seams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/costs.h"
#include "penstock/op.h"

namespace penstock {

// A transfer under way. Valid until wait() or a test() that returned true.
struct Ticket {
  std::int32_t slot = -1;
};

// A channel that will be used: announced before the first step, so that every buffer exists by
// then.
struct Channel {
  std::int32_t from = 0;
  std::int32_t to = 0;
  OpKind kind = OpKind::Forward;  // Forward: activations; Backward: gradients
  std::int64_t bytes = 0;         // of its largest message
  std::int32_t messages = 0;      // per step
  std::int32_t pending = 0;       // most that can be sent and not yet consumed at once
};

// One object per actor, used by that actor's thread only. Messages are matched by (from, to, kind,
// number); numbers count from 0 in each channel and go on over steps.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::int32_t actor() const = 0;
  virtual std::int32_t actors() const = 0;

  // Collective, once, before anything else: allocates and warms up. All pass the same list.
  virtual void open(std::span<const Channel> channels) = 0;

  // Start a transfer and return at once. `bytes` must stay as it is until the ticket is done.
  virtual Ticket send(std::int32_t to, OpKind kind, std::int64_t number,
                      std::span<const std::byte> bytes) = 0;
  virtual Ticket receive(std::int32_t from, OpKind kind, std::int64_t number,
                         std::span<std::byte> bytes) = 0;

  // True when done; never blocks. Makes progress on everything under way.
  virtual bool test(Ticket ticket) = 0;
  // Sleeps between tests when actors outnumber cores: a waiting actor takes no CPU from a working
  // one. Throws RunError when the run was aborted.
  virtual void wait(Ticket ticket) = 0;

  // Every actor's `mine` (equal sizes), in actor order, into `all`. Collective.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Rank order irrelevant to the result: all wait for all.
  virtual void barrier() = 0;
};

}  // namespace penstock
