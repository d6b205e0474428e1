#include "transport/in_process.h"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "penstock/index.h"
#include "transport/board.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
using ChannelKey = std::tuple<std::int32_t, std::int32_t, OpKind>;
struct MessageKey {
  ChannelKey channel;
  std::int64_t number;
  auto operator<=>(const MessageKey&) const = default;
};

std::string to_text(const MessageKey& key) {
  const auto& [from, to, kind] = key.channel;
  return fmt::format("message {} of channel {}>{} ({})", key.number, from, to, name(kind));
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finaliser (Steele et al., 2014)
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct InFlight {
  bool posted = false;  // by the receiver
  bool sent = false;
  bool arrived = false;
  std::span<const std::byte> source;  // the sender's, until it arrives
  std::vector<std::byte> bytes;
  Clock::time_point due;
};

struct Member {
  std::condition_variable wake;
  const std::function<bool()>* ready = nullptr;  // set while blocked
  std::string lacks;
  bool finished = false;
};

// What the actors share. Everything is under `mutex`: a transport for tests may be slow, not wrong.
class Group {
 public:
  Group(std::int32_t actors, const InProcessOptions& options)
      : options_(options),
        members_(index(actors)),
        memory_((Board::bytes(actors) + sizeof(Line) - 1) / sizeof(Line)),
        board_(memory_.data(), actors),
        entered_(index(actors)) {}

  std::int32_t actors() const { return board_.actors(); }

  void open(std::span<const Channel> channels, const ActionNames& names) {
    const std::lock_guard lock(mutex_);
    if (!names_.empty()) return;
    names_ = names;
    for (const Channel& c : channels) channels_[{c.from, c.to, c.kind}] = c;
  }

  void send(const MessageKey& key, std::span<const std::byte> source) {
    std::unique_lock lock(mutex_);
    const auto [from, to, kind] = key.channel;
    InFlight& message = messages_[key];
    assert(!message.sent && "a number is sent once");
    message.sent = true;
    message.source = source;
    message.due = Clock::now() + delay(key);
    members_[index(to)].wake.notify_all();
    // By look-up: the receiver may take and release it before this thread wakes.
    const auto is_posted = [&] {
      const auto found = messages_.find(key);
      return found == messages_.end() || found->second.posted;
    };
    if (options_.rendezvous) block(lock, from, is_posted, key, "a receiver for ");
    deliver();
  }

  void receive(const MessageKey& key, std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    const auto [from, to, kind] = key.channel;
    InFlight& message = messages_[key];
    assert(!message.posted && "a number is received once");
    message.posted = true;
    message.bytes.resize(static_cast<std::size_t>(bytes));
    ++pending_[key.channel];
    assert(pending_[key.channel] <= channels_.at(key.channel).pending && "pools hold the peak");
    members_[index(from)].wake.notify_all();
    if (options_.rendezvous)
      block(
          lock, to, [&] { return message.sent; }, key, "");
  }

  std::span<const std::byte> data(const MessageKey& key) {
    const std::lock_guard lock(mutex_);
    return messages_.at(key).bytes;
  }

  void release(const MessageKey& key) {
    const std::lock_guard lock(mutex_);
    messages_.erase(key);
    --pending_[key.channel];
  }

  // A message that is gone was received and released.
  bool has_arrived(const MessageKey& key) {
    const std::lock_guard lock(mutex_);
    deliver();
    return arrived(key);
  }

  void wait(std::int32_t actor, const MessageKey& key) {
    std::unique_lock lock(mutex_);
    deliver();
    block(
        lock, actor, [&] { return arrived(key); }, key, "");
  }

  void all_gather(std::int32_t actor, std::span<const std::byte> mine, std::span<std::byte> all) {
    std::unique_lock lock(mutex_);
    const std::int64_t round = entered_[index(actor)]++;
    Exchange& exchange = exchanges_[round];
    if (exchange.bytes.empty()) exchange.bytes.resize(members_.size());
    exchange.bytes[index(actor)].assign(mine.begin(), mine.end());
    if (++exchange.entered == members_.size()) wake_all();
    block(
        lock, actor, [&] { return exchange.entered == members_.size(); }, std::nullopt,
        "the others' part of an exchange");
    std::byte* to = all.data();
    for (const std::vector<std::byte>& part : exchange.bytes) {
      to = std::copy(part.begin(), part.end(), to);
    }
    if (++exchange.left == members_.size()) exchanges_.erase(round);
  }

  void at(std::int32_t actor, std::int32_t action) { board_.at(actor, action); }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    board_.fail(error);
    wake_all();
  }

  void finish(std::int32_t actor) {
    const std::lock_guard lock(mutex_);
    members_[index(actor)].finished = true;
    if (all_blocked()) fail_deadlocked();
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  struct Exchange {
    std::vector<std::vector<std::byte>> bytes;
    std::size_t entered = 0;
    std::size_t left = 0;
  };

  Clock::duration delay(const MessageKey& key) const {
    const auto longest = static_cast<std::uint64_t>(options_.longest_delay.count());
    if (longest == 0) return {};
    const auto [from, to, kind] = key.channel;
    const std::uint64_t who =
        mixed(static_cast<std::uint64_t>(from) << 40 | static_cast<std::uint64_t>(to) << 8 |
              static_cast<std::uint64_t>(kind));
    const std::uint64_t draw =
        mixed(options_.seed ^ mixed(who + static_cast<std::uint64_t>(key.number)));
    return std::chrono::microseconds(draw % (longest + 1));
  }

  bool arrived(const MessageKey& key) const {
    const auto found = messages_.find(key);
    return found == messages_.end() || found->second.arrived;
  }

  // Copies what is due. The sender's bytes are read here, maybe long after send() has returned, so
  // that a sender that reuses its buffer too early is found out.
  void deliver() {
    const Clock::time_point now = Clock::now();
    for (auto& [key, message] : messages_) {
      if (!message.sent || !message.posted || message.arrived || message.due > now) continue;
      assert(message.source.size() == message.bytes.size() && "both ends agree on the size");
      std::copy(message.source.begin(), message.source.end(), message.bytes.begin());
      message.arrived = true;
      members_[index(std::get<0>(key.channel))].wake.notify_all();
      members_[index(std::get<1>(key.channel))].wake.notify_all();
    }
  }

  std::optional<Clock::time_point> next_due() const {
    std::optional<Clock::time_point> next;
    for (const auto& [key, message] : messages_) {
      if (!message.sent || !message.posted || message.arrived) continue;
      if (!next || message.due < *next) next = message.due;
    }
    return next;
  }

  void block(std::unique_lock<std::mutex>& lock, std::int32_t actor,
             const std::function<bool()>& ready, const std::optional<MessageKey>& key,
             const char* what) {
    Member& member = members_[index(actor)];
    while (!ready()) {
      if (board_.failed()) board_.throw_failure();
      member.ready = &ready;
      member.lacks = what + (key ? to_text(*key) : std::string());
      board_.waiting(actor, true);
      if (all_blocked()) {
        fail_deadlocked();
      } else if (const auto due = next_due()) {
        member.wake.wait_until(lock, *due);
      } else {
        member.wake.wait(lock);
      }
      board_.waiting(actor, false);
      member.ready = nullptr;
      deliver();
    }
  }

  bool all_blocked() const {
    if (next_due()) return false;
    bool any = false;
    for (const Member& member : members_) {
      if (member.finished) continue;
      if (member.ready == nullptr || (*member.ready)()) return false;
      any = true;
    }
    return any;
  }

  void fail_deadlocked() {
    std::string what = "all actors are blocked";
    for (std::int32_t a = 0; a < actors(); ++a) {
      const Member& member = members_[index(a)];
      what += fmt::format("\n  actor {}: {}", a, member.finished ? "has finished" : "at ");
      if (member.finished) continue;
      what += action_name(board_, names_, a);
      what += ", lacks " + member.lacks;
    }
    board_.fail(RunError("", what, "the order of sends and receives deadlocks"));
    wake_all();
  }

  void wake_all() {
    for (Member& member : members_) member.wake.notify_all();
  }

  InProcessOptions options_;
  std::mutex mutex_;
  std::vector<Member> members_;
  std::vector<Line> memory_;
  Board board_;
  ActionNames names_;
  std::map<ChannelKey, Channel> channels_;
  std::map<ChannelKey, std::int32_t> pending_;
  std::map<MessageKey, InFlight> messages_;
  std::map<std::int64_t, Exchange> exchanges_;
  std::vector<std::int64_t> entered_;  // exchanges, by actor
};

class InProcessTransport final : public Transport {
 public:
  InProcessTransport(Group& group, std::int32_t actor) : group_(group), actor_(actor) {}

  std::int32_t actor() const override { return actor_; }
  std::int32_t actors() const override { return group_.actors(); }
  bool crowded() const override { return actors() > 1; }  // it waits by condition variable

  void open(std::span<const Channel> channels, const ActionNames& names) override {
    group_.open(channels, names);
    barrier();
  }
  Ticket send(std::int32_t to, OpKind kind, std::int64_t number,
              std::span<const std::byte> bytes) override {
    const MessageKey key{{actor_, to, kind}, number};
    group_.send(key, bytes);
    return remember(key, false);
  }
  Ticket receive(std::int32_t from, OpKind kind, std::int64_t number, std::int64_t bytes) override {
    const MessageKey key{{from, actor_, kind}, number};
    group_.receive(key, bytes);
    return remember(key, true);
  }
  std::span<const std::byte> data(Ticket receive) const override {
    return group_.data(entry(receive).key);
  }
  void release(Ticket receive) override {
    group_.release(entry(receive).key);
    forget(receive);
  }
  bool test(Ticket ticket) override {
    if (!group_.has_arrived(entry(ticket).key)) return false;
    if (!entry(ticket).receives) forget(ticket);
    return true;
  }
  void wait(Ticket ticket) override {
    group_.wait(actor_, entry(ticket).key);
    if (!entry(ticket).receives) forget(ticket);
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    assert(all.size() == mine.size() * index(actors()));
    group_.all_gather(actor_, mine, all);
  }
  void barrier() override { group_.all_gather(actor_, {}, {}); }
  void at(std::int32_t action) override { group_.at(actor_, action); }
  void fail(const Error& error) override { group_.fail(error); }

 private:
  struct Entry {
    MessageKey key;
    bool receives = false;
  };
  const Entry& entry(Ticket ticket) const { return entries_.at(index(ticket.slot)); }
  Ticket remember(const MessageKey& key, bool receives) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const Ticket ticket{free_.back()};
    free_.pop_back();
    entries_[index(ticket.slot)] = {key, receives};
    return ticket;
  }
  void forget(Ticket ticket) { free_.push_back(ticket.slot); }

  Group& group_;
  std::int32_t actor_;
  std::vector<Entry> entries_;
  std::vector<std::int32_t> free_;
};

}  // namespace

void with_actors(std::int32_t actors, const std::function<void(Transport&)>& fn,
                 const InProcessOptions& options) {
  Group group(actors, options);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](std::int32_t actor) {
    InProcessTransport transport(group, actor);
    const auto remember = [&] {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    };
    try {
      fn(transport);
      group.finish(actor);
    } catch (const Error& error) {
      remember();
      group.fail(error);
    } catch (const std::exception& error) {
      remember();
      group.fail(RunError(fmt::format("actor {}", actor), error.what()));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int32_t actor = 1; actor < actors; ++actor) threads.emplace_back(run, actor);
    run(0);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace penstock
