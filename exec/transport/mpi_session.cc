#include "transport/mpi_session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <signal.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "clock.h"
#include "transport/cache_line.h"

namespace penstock {
namespace {

constexpr Nanoseconds kDefaultPatience = 60'000'000'000;
// Who waits checks more often than this, unless it was stopped itself: then its clock says nothing.
constexpr Nanoseconds kLongestAway = 2'000'000'000;

std::int32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

Nanoseconds watchdog_patience() {
  const char* text = std::getenv("PENSTOCK_WATCHDOG_S");
  if (text == nullptr) return kDefaultPatience;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds > 0 && seconds < 1e9)) {
    throw Error("PENSTOCK_WATCHDOG_S", fmt::format("\"{}\" is not a number of seconds", text));
  }
  return static_cast<Nanoseconds>(seconds * 1e9);
}

// By a signal, as /proc/PID/stat tells: "PID (name) T ...".
bool is_stopped(std::int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end, 3, ") T") == 0;
}

}  // namespace

SharedMemory::SharedMemory(MPI_Comm host, std::size_t bytes) {
  // Open MPI aligns segments to 8 bytes: segment() moves up to the next line. Every segment is at
  // least a page, so that its address can be asked for.
  const auto size = static_cast<MPI_Aint>(std::max<std::size_t>(bytes + kCacheLine, 4096));
  void* base = nullptr;
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, host, &base, &window_);
  std::memset(base, 0, static_cast<std::size_t>(size));
  MPI_Barrier(host);
}

SharedMemory::~SharedMemory() {
  MPI_Win_free(&window_);
}

std::byte* SharedMemory::segment(std::int32_t rank) const {
  MPI_Aint size = 0;
  int unit = 1;
  void* base = nullptr;
  MPI_Win_shared_query(window_, rank, &size, &unit, &base);
  // Mappings begin at a page, so the next line is the same one for every process.
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  return static_cast<std::byte*>(base) + (whole_lines(address) - address);
}

MpiSession::MpiSession() : patience_(watchdog_patience()) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host_);
  std::int32_t host_size = 0;
  std::int32_t host_rank = 0;
  MPI_Comm_size(host_, &host_size);
  MPI_Comm_rank(host_, &host_rank);
  const int alone = host_size == size_ ? 1 : 0;
  int all_alone = 0;
  MPI_Allreduce(&alone, &all_alone, 1, MPI_INT, MPI_MIN, comm_);
  one_host_ = all_alone == 1;
  crowded_ = host_size > usable_cores();
  prctl(PR_SET_TIMERSLACK, 1UL);  // else short sleeps last 50 us longer

  const std::size_t board_bytes = whole_lines(Board::bytes(size_));
  memory_ =
      std::make_unique<SharedMemory>(host_, sizeof(Control) + (host_rank == 0 ? board_bytes : 0));
  board_ = std::make_unique<Board>(memory_->segment(0) + sizeof(Control), size_);
  board_->set_process(rank_, static_cast<std::int32_t>(getpid()));
  // Processes of other hosts cannot be seen: count them as waiting.
  if (!one_host_ && host_rank == 0) {
    for (std::int32_t a = 0; a < size_; ++a) board_->waiting(a, true);
  }
  MPI_Barrier(comm_);
  board_->waiting(rank_, false);
  moved_ = checked_ = now();
}

MpiSession::~MpiSession() {
  board_.reset();
  memory_.reset();
  MPI_Comm_free(&host_);
  MPI_Comm_free(&comm_);
}

// On one host, ranks in host_ and comm_ are the same (the split keeps their order).
MpiSession::Control& MpiSession::control(std::int32_t rank) const {
  return *reinterpret_cast<Control*>(memory_->segment(rank));
}

Doorbell& MpiSession::doorbell(std::int32_t rank) {
  return control(rank).doorbell;
}

std::span<std::byte> MpiSession::gather_area(std::int32_t rank, std::size_t half) {
  return control(rank).gather[half];
}

std::atomic<std::int64_t>& MpiSession::gathers_entered(std::int32_t rank) {
  return control(rank).gathers_entered;
}

void MpiSession::check() {
  if (board_->failed()) board_->throw_failure();
  const std::uint64_t progress = board_->progress();
  const Nanoseconds time = now();
  const bool was_away = time - checked_ > kLongestAway;
  checked_ = time;
  if (progress != progress_ || was_away) {
    progress_ = progress;
    moved_ = time;
    return;
  }
  if (time - moved_ < patience_) return;
  if (end_stopped()) return;
  if (!board_->all_waiting()) {  // somebody computes
    moved_ = time;
    return;
  }
  board_->fail(RunError("", fmt::format("no actor has moved for {:.0f} s{}", to_s(time - moved_),
                                        describe(*board_, names_))));
  if (one_host_) ring_all();
  board_->throw_failure();
}

bool MpiSession::end_stopped() {
  bool ended = false;
  for (std::int32_t a = 0; a < size_; ++a) {
    const std::int32_t pid = board_->process(a);
    if (pid <= 0 || !is_stopped(pid)) continue;
    if (board_->claim_report()) {
      fmt::print(stderr, "actor {} (process {}) has been stopped for {:.0f} s; the actors were{}\n",
                 a, pid, to_s(patience_), describe(*board_, names_));
    }
    kill(pid, SIGKILL);
    ended = true;
  }
  return ended;
}

void MpiSession::ring_all() {
  for (std::int32_t r = 0; r < size_; ++r) doorbell(r).ring();
}

std::unique_ptr<Transport> choose_transport(MpiSession& session) {
  if (!session.one_host()) {
    throw Error("mpirun", "the processes are on several hosts, whose clocks differ",
                "this version times every step by one host's clock: start all on one");
  }
  const char* chosen = std::getenv("PENSTOCK_TRANSPORT");
  const std::string_view name = chosen != nullptr ? chosen : "window";
  if (name == "mpi") return make_mpi_transport(session);
  if (name != "window") {
    throw Error("PENSTOCK_TRANSPORT", fmt::format("there is no transport \"{}\"", name),
                "window or mpi");
  }
  return make_window_transport(session);
}

}  // namespace penstock
