// File: random_traffic.h. Random programs of sends, receives and exchanges, the same on every
// transport.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "transport/transport.h"

namespace penstock {

// Runs one program of `messages` messages, the same for all actors by `seed`, and checks every byte
// that arrives. Every actor posts, awaits and releases in an order of its own; it waits only for
// messages that come earlier in one global order, so no transport may deadlock.
class RandomTraffic {
 public:
  RandomTraffic(Transport& transport, std::uint64_t seed, int messages, std::int64_t largest)
      : transport_(transport),
        common_(seed),
        own_(seed * 1000 + static_cast<std::uint64_t>(transport.actor())),
        messages_(messages),
        largest_(largest) {}

  static std::vector<Channel> channels(std::int32_t actors, std::int64_t largest) {
    std::vector<Channel> list;
    for (std::int32_t from = 0; from < actors; ++from) {
      for (std::int32_t to = 0; to < actors; ++to) {
        if (from == to) continue;
        for (const OpKind kind : {OpKind::Forward, OpKind::Backward}) {
          list.push_back(
              {.from = from, .to = to, .kind = kind, .bytes = largest, .pending = kPending});
        }
      }
    }
    return list;
  }

  void run() {
    transport_.open(channels(transport_.actors(), largest_), {});
    for (int i = 0; i < messages_; ++i) {
      const auto event = draw(common_, 0, 19);
      if (event == 0) {
        exchange(i);
      } else {
        message();
      }
    }
    while (!receives_.empty()) finish(0);
    for (const Send& send : sends_) transport_.wait(send.ticket);
    transport_.barrier();
  }

 private:
  static constexpr std::int32_t kPending = 3;
  using Key = std::tuple<std::int32_t, std::int32_t, OpKind>;
  struct Receive {
    Key channel;
    std::int64_t number;
    Ticket ticket;
    std::size_t bytes;
  };
  struct Send {
    Ticket ticket;
    std::vector<std::byte> bytes;
  };

  static std::int64_t draw(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  }
  static std::byte payload(const Key& channel, std::int64_t number, std::size_t i) {
    const auto& [from, to, kind] = channel;
    return static_cast<std::byte>(static_cast<std::size_t>(from * 7 + to * 13) +
                                  static_cast<std::size_t>(kind) * 29 +
                                  static_cast<std::size_t>(number) * 31 + i * 3);
  }

  void message() {
    const auto from = static_cast<std::int32_t>(draw(common_, 0, transport_.actors() - 1));
    const auto hop = static_cast<std::int32_t>(draw(common_, 1, transport_.actors() - 1));
    const std::int32_t to = (from + hop) % transport_.actors();
    const OpKind kind = draw(common_, 0, 1) == 0 ? OpKind::Forward : OpKind::Backward;
    const auto bytes = static_cast<std::size_t>(draw(common_, 1, largest_));
    const Key channel{from, to, kind};
    const std::int64_t number = numbers_[channel]++;
    if (from == transport_.actor()) {
      sends_.push_back({{}, std::vector<std::byte>(bytes)});
      Send& send = sends_.back();
      for (std::size_t i = 0; i < bytes; ++i) send.bytes[i] = payload(channel, number, i);
      send.ticket = transport_.send(to, kind, number, send.bytes);
    }
    if (to == transport_.actor()) {
      make_room(channel);
      receives_.push_back({channel, number,
                           transport_.receive(from, kind, number, static_cast<std::int64_t>(bytes)),
                           bytes});
    }
    if (draw(own_, 0, 3) == 0 && !receives_.empty()) {
      finish(
          static_cast<std::size_t>(draw(own_, 0, static_cast<std::int64_t>(receives_.size()) - 1)));
    }
    while (!sends_.empty() && transport_.test(sends_.front().ticket)) sends_.pop_front();
  }

  // In any order, so that slots come back out of order.
  void make_room(const Key& channel) {
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      if (receives_[i].channel == channel) mine.push_back(i);
    }
    if (mine.size() < kPending) return;
    finish(
        mine[static_cast<std::size_t>(draw(own_, 0, static_cast<std::int64_t>(mine.size()) - 1))]);
  }

  void finish(std::size_t index) {
    const Receive receive = receives_[index];
    receives_.erase(receives_.begin() + static_cast<std::ptrdiff_t>(index));
    transport_.wait(receive.ticket);
    const std::span<const std::byte> data = transport_.data(receive.ticket);
    ASSERT_EQ(data.size(), receive.bytes);
    for (std::size_t i = 0; i < data.size(); ++i) {
      ASSERT_EQ(data[i], payload(receive.channel, receive.number, i))
          << "byte " << i << " of message " << receive.number;
    }
    transport_.release(receive.ticket);
  }

  void exchange(int round) {
    const auto size = static_cast<std::size_t>(draw(common_, 0, 40000));
    std::vector<std::int32_t> mine(size, transport_.actor() * 1000 + round);
    std::vector<std::int32_t> all(size * static_cast<std::size_t>(transport_.actors()));
    transport_.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i], static_cast<std::int32_t>(i / size) * 1000 + round);
    }
  }

  Transport& transport_;
  std::mt19937_64 common_;  // the program: the same draws on every actor
  std::mt19937_64 own_;
  int messages_;
  std::int64_t largest_;
  std::map<Key, std::int64_t> numbers_;
  std::vector<Receive> receives_;
  std::deque<Send> sends_;
};

}  // namespace penstock
