#include "message_probe.h"

#include <algorithm>
#include <span>
#include <vector>

#include "buffer.h"
#include "clock.h"
#include "gather.h"
#include "median.h"

namespace penstock {
namespace {

constexpr std::int64_t kSmall = 64;            // bytes
constexpr std::int64_t kColdBytes = 64 << 20;  // beyond the last cache of common machines
constexpr int kMessages = 15;

// One message at each agreed time; what each end saw on its clock.
class Probe {
 public:
  Probe(const Channel& channel, Transport& transport) : channel_(channel), transport_(transport) {
    if (transport.actor() != channel.from) return;
    const std::int64_t count = std::clamp<std::int64_t>(kColdBytes / channel.bytes, 2, kMessages);
    for (std::int64_t i = 0; i < count; ++i) {
      buffers_.emplace_back((channel.bytes + 3) / static_cast<std::int64_t>(sizeof(float)));
    }
  }

  Nanoseconds time(std::int64_t bytes) {
    const std::vector<Nanoseconds> clocks = gather_one(transport_, now());
    const Nanoseconds begin = *std::max_element(clocks.begin(), clocks.end()) + 1'000'000;
    const Nanoseconds gap = 300'000 + 2 * bytes;
    std::vector<Nanoseconds> seen;
    for (int i = 0; i < kMessages; ++i) {
      if (transport_.actor() == channel_.from) seen.push_back(send(begin + i * gap, bytes));
      if (transport_.actor() == channel_.to) seen.push_back(receive(bytes));
      ++number_;
    }
    const auto all = gather(transport_, std::span<const Nanoseconds>(seen));
    std::vector<Nanoseconds> took;
    for (std::size_t i = 0; i < kMessages; ++i) {
      took.push_back(std::max<Nanoseconds>(0, all[static_cast<std::size_t>(channel_.to)][i] -
                                                  all[static_cast<std::size_t>(channel_.from)][i]));
    }
    return median(std::move(took));
  }

 private:
  Nanoseconds send(Nanoseconds time, std::int64_t bytes) {
    const Buffer& buffer = buffers_[static_cast<std::size_t>(number_) % buffers_.size()];
    wait_until(time, transport_.crowded() ? 0 : 50'000);
    const Ticket ticket =
        transport_.send(channel_.to, channel_.kind, number_,
                        std::as_bytes(buffer.floats()).first(static_cast<std::size_t>(bytes)));
    const Nanoseconds returned = now();
    transport_.wait(ticket);
    return returned;
  }

  Nanoseconds receive(std::int64_t bytes) {
    const Ticket ticket = transport_.receive(channel_.from, channel_.kind, number_, bytes);
    transport_.wait(ticket);
    const Nanoseconds seen = now();
    transport_.release(ticket);
    return seen;
  }

  const Channel& channel_;
  Transport& transport_;
  std::vector<Buffer> buffers_;
  std::int64_t number_ = 0;
};

}  // namespace

std::map<std::pair<std::int32_t, std::int32_t>, ProbedChannel> probe_messages(
    std::span<const Channel> channels, Transport& transport) {
  std::map<std::pair<std::int32_t, std::int32_t>, ProbedChannel> costs;
  for (const Channel& channel : channels) {
    Probe probe(channel, transport);
    const Nanoseconds small = probe.time(std::min(kSmall, channel.bytes));
    const Nanoseconds full = probe.time(channel.bytes);
    ProbedChannel& cost = costs[{channel.from, channel.to}];
    cost.latency = small;
    if (full > small) {
      cost.bytes_per_s = static_cast<double>(channel.bytes) / to_s(full - small);
    }
  }
  return costs;
}

}  // namespace penstock
