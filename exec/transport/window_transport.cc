// Slots in memory that the processes of one host share: a send is a copy and a flag, so nothing
// depends on the peer calling into a library.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <sys/statvfs.h>
#include <vector>

#include <fmt/format.h>

#include "clock.h"
#include "penstock/index.h"
#include "transport/mailbox.h"
#include "transport/mpi_session.h"

namespace penstock {
namespace {

// Tells the core that this is a waiting loop.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

constexpr std::int32_t kSlack = 2;  // slots beyond the receiver's peak: what is sent ahead
// How long to spin before sleeping. Waking up costs some 50 us, which very short waits avoid; but a
// process that has used its share of a busy machine by spinning gets a core later when it matters.
constexpr Nanoseconds kSpin = 20'000;
constexpr int kLooks = 50;  // between two looks at the clock
constexpr std::int64_t kLongestSleep = 100'000'000;

std::int32_t slots_of(const Channel& channel) {
  return channel.pending + kSlack;
}

class WindowTransport final : public Transport {
 public:
  explicit WindowTransport(MpiSession& session)
      : session_(session), bell_(session.doorbell(session.rank())) {}

  std::int32_t actor() const override { return session_.rank(); }
  std::int32_t actors() const override { return session_.size(); }
  bool crowded() const override { return session_.crowded(); }

  void open(std::span<const Channel> channels, const ActionNames& names) override {
    session_.set_names(names);
    lookup_.assign(index(actors()) * kOpKinds * 2, -1);
    std::vector<std::size_t> offsets;
    std::vector<std::size_t> sizes(index(actors()));
    for (const Channel& c : channels) {
      offsets.push_back(sizes[index(c.to)]);
      sizes[index(c.to)] += Mailbox::bytes(slots_of(c), c.bytes);
    }
    require_space(sizes);
    memory_ = std::make_unique<SharedMemory>(session_.comm(), sizes[index(actor())]);
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const Channel& c = channels[i];
      if (c.from != actor() && c.to != actor()) continue;
      const bool incoming = c.to == actor();
      lookup_[key(incoming, incoming ? c.from : c.to, c.kind)] =
          static_cast<std::int32_t>(boxes_.size());
      boxes_.push_back(
          {.mailbox = Mailbox(memory_->segment(c.to) + offsets[i], slots_of(c), c.bytes),
           .peer = incoming ? c.from : c.to,
           .queue = {}});
      if (incoming) boxes_.back().mailbox.reset();
    }
    barrier();
    for (const Channel& c : channels) {
      if (c.from == actor()) box(false, c.to, c.kind).mailbox.touch();
    }
    barrier();
  }

  Ticket send(std::int32_t to, OpKind kind, std::int64_t number,
              std::span<const std::byte> bytes) override {
    Box& out = box(false, to, kind);
    [[maybe_unused]] const std::int64_t next = out.next++;
    assert(number == next && "a channel's messages are sent in the order of their numbers");
    const Ticket ticket = make_ticket({.box = number_of(out), .number = number});
    if (out.queue.empty() && out.mailbox.put(bytes)) {
      session_.doorbell(out.peer).ring();
      entry(ticket).done = true;
    } else {
      out.queue.push_back({ticket, bytes});
      ++queued_;
    }
    return ticket;
  }

  Ticket receive(std::int32_t from, OpKind kind, std::int64_t number, std::int64_t bytes) override {
    return make_ticket({.box = number_of(box(true, from, kind)),
                        .number = number,
                        .bytes = bytes,
                        .receives = true});
  }

  std::span<const std::byte> data(Ticket receive) const override {
    const Entry& e = entries_[index(receive.slot)];
    return boxes_[index(e.box)].mailbox.slot(e.slot).first(static_cast<std::size_t>(e.bytes));
  }

  void release(Ticket receive) override {
    const Entry& e = entry(receive);
    Box& in = boxes_[index(e.box)];
    in.mailbox.give_back(e.slot);
    session_.doorbell(in.peer).ring();
    free_.push_back(receive.slot);
  }

  bool test(Ticket ticket) override {
    if (queued_ > 0) push_queued();
    if (!is_done(ticket)) return false;
    if (!entry(ticket).receives) free_.push_back(ticket.slot);
    return true;
  }

  void wait(Ticket ticket) override {
    wait_for([&] { return is_done(ticket); });
    if (!entry(ticket).receives) free_.push_back(ticket.slot);
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    constexpr std::size_t kPiece = MpiSession::kGatherBytes;
    std::size_t offset = 0;
    do {  // an empty exchange is a barrier
      const std::size_t bytes = std::min(kPiece, mine.size() - offset);
      gather_piece(mine.subspan(offset, bytes), all, offset, mine.size());
      offset += bytes;
    } while (offset < mine.size());
  }

  void barrier() override { all_gather({}, {}); }
  void at(std::int32_t action) override { session_.board().at(actor(), action); }

  void fail(const Error& error) override {
    session_.board().fail(error);
    session_.ring_all();
  }

 private:
  struct Queued {
    Ticket ticket;
    std::span<const std::byte> bytes;
  };
  struct Box {
    Mailbox mailbox;
    std::int32_t peer = 0;
    std::deque<Queued> queue;  // sends that found no free slot
    std::int64_t next = 0;
  };
  struct Entry {
    std::int32_t box = 0;
    std::int64_t number = 0;
    std::int64_t bytes = 0;
    std::int32_t slot = -1;
    bool receives = false;
    bool done = false;
  };

  std::size_t key(bool incoming, std::int32_t peer, OpKind kind) const {
    return (index(peer) * kOpKinds + index(kind)) * 2 + (incoming ? 1 : 0);
  }
  Box& box(bool incoming, std::int32_t peer, OpKind kind) {
    const std::int32_t found = lookup_[key(incoming, peer, kind)];
    assert(found >= 0 && "a channel is announced before it is used");
    return boxes_[index(found)];
  }
  std::int32_t number_of(const Box& box) const {
    return static_cast<std::int32_t>(&box - boxes_.data());
  }
  Entry& entry(Ticket ticket) { return entries_[index(ticket.slot)]; }
  Ticket make_ticket(const Entry& e) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const Ticket ticket{free_.back()};
    free_.pop_back();
    entry(ticket) = e;
    return ticket;
  }

  bool is_done(Ticket ticket) {
    Entry& e = entry(ticket);
    if (e.done || !e.receives) return e.done;
    const auto slot = boxes_[index(e.box)].mailbox.find(e.number);
    if (!slot) return false;
    e.slot = *slot;
    e.done = true;
    return true;
  }

  void push_queued() {
    for (Box& out : boxes_) {
      while (!out.queue.empty() && out.mailbox.put(out.queue.front().bytes)) {
        entry(out.queue.front().ticket).done = true;
        out.queue.pop_front();
        --queued_;
        session_.doorbell(out.peer).ring();
      }
    }
  }

  template <typename Done>
  void wait_for(Done done) {
    if (queued_ > 0) push_queued();
    if (done()) return;
    session_.board().waiting(actor(), true);
    while (!poll(done)) session_.check();
    session_.board().waiting(actor(), false);
  }

  // Spins for a while, then sleeps until somebody rings.
  template <typename Done>
  bool poll(Done done) {
    const Nanoseconds end = now() + kSpin;
    do {
      for (int i = 0; i < kLooks; ++i) {
        if (queued_ > 0) push_queued();
        if (done()) return true;
        pause();
      }
    } while (now() < end);
    const std::uint32_t count = bell_.count();
    if (queued_ > 0) push_queued();
    if (done()) return true;
    if (!session_.board().failed()) bell_.sleep(count, kLongestSleep);
    return false;
  }

  void gather_piece(std::span<const std::byte> mine, std::span<std::byte> all, std::size_t offset,
                    std::size_t stride) {
    const std::size_t half = static_cast<std::size_t>(gathers_ % 2);
    ++gathers_;
    std::copy(mine.begin(), mine.end(), session_.gather_area(actor(), half).begin());
    session_.gathers_entered(actor()).store(gathers_, std::memory_order_release);
    session_.ring_all();
    for (std::int32_t r = 0; r < actors(); ++r) {
      const std::atomic<std::int64_t>& entered = session_.gathers_entered(r);
      wait_for([&] { return entered.load(std::memory_order_acquire) >= gathers_; });
      if (mine.empty()) continue;
      std::memcpy(all.subspan(index(r) * stride + offset).data(),
                  session_.gather_area(r, half).data(), mine.size());
    }
  }

  // All processes see the same numbers, so all throw or none.
  void require_space(std::span<const std::size_t> sizes) {
    std::uint64_t need = 0;
    for (const std::size_t size : sizes) need += size;
    std::uint64_t free_bytes = ~std::uint64_t{0};
    struct statvfs info {};
    if (statvfs("/dev/shm", &info) == 0) free_bytes = info.f_bavail * info.f_frsize;
    std::vector<std::uint64_t> free_of(index(actors()));
    all_gather(std::as_bytes(std::span(&free_bytes, 1)),
               std::as_writable_bytes(std::span(free_of)));
    if (need <= free_of[0]) return;
    throw RunError("/dev/shm",
                   fmt::format("messages need {} MB of shared memory, {} MB are free", need >> 20,
                               free_of[0] >> 20),
                   "PENSTOCK_TRANSPORT=mpi does without, or enlarge /dev/shm");
  }

  MpiSession& session_;
  Doorbell& bell_;
  std::unique_ptr<SharedMemory> memory_;
  std::vector<Box> boxes_;
  std::vector<std::int32_t> lookup_;  // by key(): index into boxes_
  std::vector<Entry> entries_;
  std::vector<std::int32_t> free_;
  std::int64_t queued_ = 0;
  std::int64_t gathers_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_window_transport(MpiSession& session) {
  return std::make_unique<WindowTransport>(session);
}

}  // namespace penstock
