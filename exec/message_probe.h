// File: message_probe.h. Times messages between two actors.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "penstock/costs.h"
#include "transport/transport.h"

namespace penstock {

struct ProbedChannel {
  Nanoseconds latency = 0;
  double bytes_per_s = 0;  // 0: no slower for its size
};

// Collective: every channel in turn, while the other actors wait. From the sender's return from
// send() to the receiver's return from wait(), with buffers that take turns so that they are cold;
// the median of small and of full messages gives the two parts. By (from, to).
std::map<std::pair<std::int32_t, std::int32_t>, ProbedChannel> probe_messages(
    std::span<const Channel> channels, Transport& transport);

}  // namespace penstock
