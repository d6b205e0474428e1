// File: mpi_session.h. The processes that mpirun started, and what they share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <mpi.h>

#include "penstock/costs.h"
#include "transport/board.h"
#include "transport/doorbell.h"
#include "transport/transport.h"

namespace penstock {

// Memory that all processes of `host` see; each contributes a segment of its own, zeroed and
// aligned to 64. Construction and destruction are collective.
class SharedMemory {
 public:
  SharedMemory(MPI_Comm host, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* segment(std::int32_t rank) const;

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

// Collective over MPI_COMM_WORLD, which must be initialised. One per run.
class MpiSession {
 public:
  static constexpr std::size_t kGatherBytes = 1 << 16;

  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  MPI_Comm comm() const { return comm_; }
  std::int32_t rank() const { return rank_; }
  std::int32_t size() const { return size_; }
  bool one_host() const { return one_host_; }
  bool crowded() const { return crowded_; }

  // Shared by the processes of this host; entries of other hosts' processes never change.
  Board& board() { return *board_; }
  const ActionNames& names() const { return names_; }
  void set_names(const ActionNames& names) { names_ = names; }

  // REQUIRES: one_host().
  Doorbell& doorbell(std::int32_t rank);
  // Room for an exchange; there are two, so that a fast process may already fill the next one.
  std::span<std::byte> gather_area(std::int32_t rank, std::size_t half);
  std::atomic<std::int64_t>& gathers_entered(std::int32_t rank);

  // Called now and then by who waits. Throws when the run has failed, or when for a long time (60
  // s, or PENSTOCK_WATCHDOG_S) everybody has been waiting and nobody has moved. A process that has
  // been stopped (SIGSTOP) for as long is reported and ended, and so the run.
  void check();
  void ring_all();

 private:
  struct Control {
    Doorbell doorbell;
    alignas(64) std::atomic<std::int64_t> gathers_entered;
    alignas(64) std::array<std::array<std::byte, kGatherBytes>, 2> gather;
  };
  Control& control(std::int32_t rank) const;
  // A process that a signal has stopped cannot take part in an orderly end. True: there was one,
  // and mpirun will end all others now that it is dead.
  bool end_stopped();

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm host_ = MPI_COMM_NULL;
  std::int32_t rank_ = 0;
  std::int32_t size_ = 1;
  bool one_host_ = true;
  bool crowded_ = false;
  std::unique_ptr<SharedMemory> memory_;  // host rank 0: board and control; others: control
  std::unique_ptr<Board> board_;
  ActionNames names_;
  Nanoseconds patience_ = 0;
  std::uint64_t progress_ = 0;
  Nanoseconds moved_ = 0;    // when progress_ was seen to change
  Nanoseconds checked_ = 0;  // when check() was called last
};

// The transport of actor `session.rank()`: messages, or slots in shared memory.
std::unique_ptr<Transport> make_mpi_transport(MpiSession& session);
std::unique_ptr<Transport> make_window_transport(MpiSession& session);

// As PENSTOCK_TRANSPORT says: "window" (the default) or "mpi". Throws Error for anything else, and
// when the processes are not all on one host.
std::unique_ptr<Transport> choose_transport(MpiSession& session);

}  // namespace penstock
