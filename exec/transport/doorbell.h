// File: doorbell.h. Waiting for another process without taking CPU from those that work.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

// One per actor, in memory that all actors share, zeroed. Whoever changes what the owner may wait
// for rings afterwards. A ring is one atomic add; only a sleeping owner costs a system call.
class alignas(64) Doorbell {
 public:
  void ring();

  // The owner: read `count` first, then look whether there is something to do, and if not sleep
  // with the count that was read. Returns after a ring since then, a timeout, or for no reason.
  std::uint32_t count() const { return count_.load(std::memory_order_seq_cst); }
  void sleep(std::uint32_t count, std::int64_t longest_ns);

 private:
  std::atomic<std::uint32_t> count_;
  std::atomic<std::uint32_t> asleep_;
};

}  // namespace penstock
