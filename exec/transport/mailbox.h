// File: mailbox.h. One channel between two processes of a host: slots in shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace penstock {

// The sender copies a message into a free slot; the receiver reads it there and gives the slot back
// when it is done with it, in any order. One sender and one receiver, each with a view of its own
// on the same memory. Nobody ever blocks.
class Mailbox {
 public:
  static std::size_t bytes(std::int32_t slots, std::int64_t slot_bytes);
  // REQUIRES: `memory` is bytes(...) long and aligned to 64. One end calls reset() before the
  // other's first call.
  Mailbox(void* memory, std::int32_t slots, std::int64_t slot_bytes);
  void reset();
  void touch();  // the sender, after reset(): maps every page

  // Sender. Messages are numbered 0, 1, ... in the order of put(). False: no slot is free.
  bool put(std::span<const std::byte> message);

  // Receiver. The slot that holds message `number` once it is there.
  std::optional<std::int32_t> find(std::int64_t number);
  std::span<const std::byte> slot(std::int32_t slot) const;
  void give_back(std::int32_t slot);

 private:
  struct Counters {
    alignas(64) std::atomic<std::int64_t> sent;
    alignas(64) std::atomic<std::int64_t> freed;
  };

  std::int32_t slots_;
  std::int64_t slot_bytes_;
  Counters* counters_;
  std::int32_t* sent_slot_;   // [number % slots]: written by the sender
  std::int32_t* freed_slot_;  // [count % slots]: written by the receiver
  std::byte* data_;

  std::int64_t put_ = 0;                                     // sender's: messages so far
  std::int64_t taken_ = 0;                                   // sender's: free slots taken
  std::int64_t given_ = 0;                                   // receiver's: slots given back
  std::int64_t seen_ = 0;                                    // receiver's: messages seen
  std::vector<std::pair<std::int64_t, std::int32_t>> here_;  // seen, not asked for yet
};

}  // namespace penstock
