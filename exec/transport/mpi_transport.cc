// Plain MPI messages, sent and received without blocking.
#include <algorithm>
#include <cassert>
#include <climits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "buffer.h"
#include "clock.h"
#include "penstock/index.h"
#include "transport/mpi_session.h"

namespace penstock {
namespace {

constexpr int kTests = 20;             // between two looks at the clock
constexpr Nanoseconds kSpin = 20'000;  // before sleeping; the reasons are the window's
constexpr Nanoseconds kSleep = 50'000;

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MpiSession& session) : session_(session) {
    void* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(session.comm(), MPI_TAG_UB, &value, &found);
    const int largest = found != 0 ? *static_cast<int*>(value) : 32767;
    numbers_ = (static_cast<std::int64_t>(largest) + 1) / kOpKinds;
  }

  // After a failure some receives are still under way: nothing may arrive in freed memory.
  ~MpiTransport() override {
    for (Entry& e : entries_) {
      if (e.request == MPI_REQUEST_NULL || e.pool < 0) continue;
      MPI_Cancel(&e.request);
      MPI_Wait(&e.request, MPI_STATUS_IGNORE);
    }
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  std::int32_t actor() const override { return session_.rank(); }
  std::int32_t actors() const override { return session_.size(); }
  bool crowded() const override { return session_.crowded(); }

  void open(std::span<const Channel> channels, const ActionNames& names) override {
    session_.set_names(names);
    pool_of_.assign(index(actors()) * kOpKinds, -1);
    for (const Channel& c : channels) {
      if (c.bytes > INT_MAX) {
        throw Error("", fmt::format("a message of {} bytes is too long for MPI", c.bytes),
                    "smaller microbatches");
      }
      if (c.to == actor()) add_pool(c);
    }
    warm_up(channels);
    barrier();
  }

  Ticket send(std::int32_t to, OpKind kind, std::int64_t number,
              std::span<const std::byte> bytes) override {
    const Ticket ticket = make_ticket();
    MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag(kind, number),
              session_.comm(), &entry(ticket).request);
    return ticket;
  }

  Ticket receive(std::int32_t from, OpKind kind, std::int64_t number, std::int64_t bytes) override {
    const Ticket ticket = make_ticket();
    Entry& e = entry(ticket);
    e.pool = pool_of_[channel_key(from, kind)];
    assert(e.pool >= 0 && "a channel is announced before it is used");
    Pool& pool = pools_[index(e.pool)];
    assert(!pool.free.empty() && "a pool holds the program's peak");
    e.buffer = pool.free.back();
    pool.free.pop_back();
    e.bytes = bytes;
    MPI_Irecv(pool.buffers[index(e.buffer)].floats().data(), static_cast<int>(bytes), MPI_BYTE,
              from, tag(kind, number), session_.comm(), &e.request);
    return ticket;
  }

  std::span<const std::byte> data(Ticket receive) const override {
    const Entry& e = entries_[index(receive.slot)];
    const Pool& pool = pools_[index(e.pool)];
    return std::as_bytes(pool.buffers[index(e.buffer)].floats())
        .first(static_cast<std::size_t>(e.bytes));
  }

  void release(Ticket receive) override {
    const Entry& e = entry(receive);
    pools_[index(e.pool)].free.push_back(e.buffer);
    free_.push_back(receive.slot);
  }

  bool test(Ticket ticket) override {
    if (!is_done(entry(ticket).request)) return false;
    if (entry(ticket).pool < 0) free_.push_back(ticket.slot);
    return true;
  }

  void wait(Ticket ticket) override {
    wait_for(entry(ticket).request);
    if (entry(ticket).pool < 0) free_.push_back(ticket.slot);
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    const int bytes = static_cast<int>(mine.size());
    auto to = std::make_unique<std::vector<std::byte>>(all.size() + mine.size());
    std::byte* const from = to->data() + all.size();
    std::copy(mine.begin(), mine.end(), from);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(from, bytes, MPI_BYTE, to->data(), bytes, MPI_BYTE, session_.comm(), &request);
    try {
      wait_for(request);
    } catch (...) {
      to.release();  // cannot be cancelled: what still arrives needs its place
      throw;
    }
    std::copy_n(to->begin(), all.size(), all.begin());
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(session_.comm(), &request);
    wait_for(request);
  }

  void at(std::int32_t action) override { session_.board().at(actor(), action); }

  void fail(const Error& error) override { session_.board().fail(error); }

 private:
  struct Pool {
    std::vector<Buffer> buffers;
    std::vector<std::int32_t> free;
  };
  struct Entry {
    MPI_Request request = MPI_REQUEST_NULL;
    std::int32_t pool = -1;  // -1: a send
    std::int32_t buffer = -1;
    std::int64_t bytes = 0;
  };

  // Numbers may wrap: far fewer messages of a channel are under way at once, and MPI keeps those
  // of one tag in order.
  int tag(OpKind kind, std::int64_t number) const {
    return static_cast<int>(static_cast<std::int64_t>(kind) * numbers_ + number % numbers_);
  }
  std::size_t channel_key(std::int32_t from, OpKind kind) const {
    return index(from) * kOpKinds + index(kind);
  }
  Entry& entry(Ticket ticket) { return entries_[index(ticket.slot)]; }
  Ticket make_ticket() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const Ticket ticket{free_.back()};
    free_.pop_back();
    entry(ticket) = {};
    return ticket;
  }

  void add_pool(const Channel& c) {
    pool_of_[channel_key(c.from, c.kind)] = static_cast<std::int32_t>(pools_.size());
    Pool& pool = pools_.emplace_back();
    for (std::int32_t i = 0; i < c.pending; ++i) {
      pool.buffers.emplace_back((c.bytes + 3) / static_cast<std::int64_t>(sizeof(float)));
      pool.free.push_back(i);
    }
  }

  // One full message per channel: connections, shared segments and registrations exist afterwards.
  void warm_up(std::span<const Channel> channels) {
    std::vector<Ticket> sends;
    std::vector<Ticket> receives;
    std::vector<Buffer> buffers;
    for (const Channel& c : channels) {
      if (c.to == actor()) receives.push_back(receive(c.from, c.kind, numbers_ - 1, c.bytes));
      if (c.from != actor()) continue;
      const Buffer& buffer =
          buffers.emplace_back((c.bytes + 3) / static_cast<std::int64_t>(sizeof(float)));
      sends.push_back(
          send(c.to, c.kind, numbers_ - 1,
               std::as_bytes(buffer.floats()).first(static_cast<std::size_t>(c.bytes))));
    }
    try {
      for (const Ticket ticket : receives) {
        wait(ticket);
        release(ticket);
      }
      for (const Ticket ticket : sends) wait(ticket);
    } catch (...) {
      leave_to_sends(std::move(buffers));
      throw;
    }
  }

  static bool is_done(MPI_Request& request) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  void wait_for(MPI_Request& request) {
    if (is_done(request)) return;
    session_.board().waiting(actor(), true);
    const Nanoseconds spin_until = now() + kSpin;
    while (!tested(request)) {
      session_.check();
      const Nanoseconds time = now();
      if (time > spin_until) sleep_until(time + kSleep);
    }
    session_.board().waiting(actor(), false);
  }

  static bool tested(MPI_Request& request) {
    for (int i = 0; i < kTests; ++i) {
      if (is_done(request)) return true;
    }
    return false;
  }

  MpiSession& session_;
  std::int64_t numbers_ = 0;  // different tags of one kind
  std::vector<Pool> pools_;
  std::vector<std::int32_t> pool_of_;  // by channel_key()
  std::vector<Entry> entries_;
  std::vector<std::int32_t> free_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MpiSession& session) {
  return std::make_unique<MpiTransport>(session);
}

}  // namespace penstock
