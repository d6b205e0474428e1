// The in-process transport, and the parts of the shared window that need no MPI.
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "random_traffic.h"
#include "transport/doorbell.h"
#include "transport/in_process.h"
#include "transport/mailbox.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

TEST(InProcess, RandomTraffic) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const std::int32_t actors : {2, 3, 4}) {
      with_actors(actors, [&](Transport& t) { RandomTraffic(t, seed, 100, 500).run(); },
                  {.seed = seed, .longest_delay = 50us});
    }
  }
}

TEST(InProcess, RandomTrafficUnderRendezvous) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    with_actors(3, [&](Transport& t) { RandomTraffic(t, seed, 100, 500).run(); },
                {.rendezvous = true});
  }
}

TEST(InProcess, ActorsThatFinishLeaveTheOthersBlocked) {
  EXPECT_THROW(with_actors(2,
                           [](Transport& t) {
                             const Channel channel{.from = 0, .to = 1, .bytes = 4, .pending = 1};
                             t.open(std::span(&channel, 1), {});
                             if (t.actor() == 1) t.wait(t.receive(0, OpKind::Forward, 0, 4));
                           }),
               RunError);
}

// Memory as shared memory is: aligned, and seen by two threads through two views.
struct Block {
  explicit Block(std::size_t bytes) : lines((bytes + 63) / 64) {}
  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  std::vector<Line> lines;
};

TEST(Mailbox, KeepsMessagesApartWhileSlotsComeBackInAnyOrder) {
  constexpr std::int32_t kSlots = 4;
  constexpr std::int64_t kBytes = 100;
  constexpr std::int64_t kMessages = 20000;
  Block block(Mailbox::bytes(kSlots, kBytes));
  Mailbox receiver(block.lines.data(), kSlots, kBytes);
  receiver.reset();
  const auto value = [](std::int64_t number) { return static_cast<std::byte>(number * 7 + 1); };
  std::jthread sender([&] {
    Mailbox mailbox(block.lines.data(), kSlots, kBytes);
    for (std::int64_t n = 0; n < kMessages; ++n) {
      const std::vector<std::byte> message(kBytes, value(n));
      while (!mailbox.put(message)) std::this_thread::yield();
    }
  });
  std::vector<std::pair<std::int64_t, std::int32_t>> held;
  std::mt19937_64 random(3);
  for (std::int64_t n = 0; n < kMessages; ++n) {
    std::optional<std::int32_t> slot;
    while (!(slot = receiver.find(n))) std::this_thread::yield();
    held.emplace_back(n, *slot);
    while (held.size() == kSlots || (n == kMessages - 1 && !held.empty())) {
      const std::size_t pick = random() % held.size();
      const auto [number, at] = held[pick];
      for (const std::byte b : receiver.slot(at).first(kBytes)) ASSERT_EQ(b, value(number));
      receiver.give_back(at);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
    }
  }
}

TEST(Mailbox, RefusesWhenEverySlotIsTaken) {
  Block block(Mailbox::bytes(2, 8));
  Mailbox receiver(block.lines.data(), 2, 8);
  receiver.reset();
  Mailbox sender(block.lines.data(), 2, 8);
  const std::vector<std::byte> message(8, std::byte{1});
  EXPECT_TRUE(sender.put(message));
  EXPECT_TRUE(sender.put(message));
  EXPECT_FALSE(sender.put(message));
  EXPECT_EQ(receiver.find(5), std::nullopt);
  const auto second = receiver.find(1);
  ASSERT_TRUE(second);
  receiver.give_back(*second);
  EXPECT_TRUE(sender.put(message));
  EXPECT_EQ(receiver.find(2), second);
}

// A ring between the look and the sleep must not be lost: each sleep would last a second.
TEST(Doorbell, NoRingIsLost) {
  const auto bell = std::make_unique<Doorbell>();
  std::atomic<int> sent{0};
  std::atomic<int> seen{0};
  constexpr int kRounds = 2000;
  const auto begin = std::chrono::steady_clock::now();
  std::jthread ringer([&] {
    for (int i = 1; i <= kRounds; ++i) {
      sent.store(i);
      bell->ring();
      while (seen.load() < i) std::this_thread::yield();
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    while (true) {
      const std::uint32_t count = bell->count();
      if (sent.load() >= i) break;
      bell->sleep(count, 1'000'000'000);
    }
    seen.store(i);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

}  // namespace
}  // namespace penstock
