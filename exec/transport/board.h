// File: board.h. What every actor is doing right now, in memory that all of them see.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/error.h"
#include "transport/transport.h"

namespace penstock {

// A view of a block of memory: the heap for actors that are threads, shared memory for processes.
// All members are lock-free atomics; any actor may call anything at any time. Reading it is safe in
// a signal handler.
class Board {
 public:
  static std::size_t bytes(std::int32_t actors);
  // REQUIRES: `memory` is bytes(actors) long, zeroed, and aligned to 64.
  Board(void* memory, std::int32_t actors);

  void at(std::int32_t actor, std::int32_t action);
  void waiting(std::int32_t actor, bool waits);
  void set_process(std::int32_t actor, std::int32_t pid);

  std::int32_t actors() const { return actors_; }
  std::int32_t action(std::int32_t actor) const;  // -1: none yet
  bool is_waiting(std::int32_t actor) const;
  std::int32_t process(std::int32_t actor) const;
  bool all_waiting() const;
  // Changes whenever any actor gets on; equal values over a long time: a hang.
  std::uint64_t progress() const;

  // The first failure wins; later ones are dropped.
  void fail(const Error& error);
  bool failed() const { return header_->state.load(std::memory_order_acquire) == kReady; }
  [[noreturn]] void throw_failure() const;  // REQUIRES: failed()

  // True for exactly one caller: who prints the board when a process died.
  bool claim_report();

 private:
  static constexpr std::uint32_t kReady = 2;
  static constexpr std::size_t kText = 16384;
  struct Header {
    std::atomic<std::uint32_t> state;  // 0 running, 1 a failure is being written, kReady
    std::atomic<std::uint32_t> reported;
    std::atomic<bool> while_running;  // a RunError, not an Error
    std::array<char, kText> text;
  };
  struct alignas(64) Entry {
    std::atomic<std::int32_t> action;  // + 1, so that zeroed memory means none
    std::atomic<std::uint32_t> waits;
    std::atomic<std::uint64_t> moves;
    std::atomic<std::int32_t> process;
  };

  std::int32_t actors_;
  Header* header_;
  Entry* entries_;
};

// What `actor` does: "2F3"; "start-up" before its first action. Safe in a signal handler.
std::string_view action_name(const Board& board, const ActionNames& names, std::int32_t actor);

// "actor 0 at 2F3; actor 1 waits at ...", one line per actor.
std::string describe(const Board& board, const ActionNames& names);

}  // namespace penstock
