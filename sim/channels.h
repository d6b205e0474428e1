// File: channels.h. When each directed pair of actors can carry the next message.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/costs.h"

namespace penstock {

// An actor talks to few others, so each keeps a short list that is searched from the front.
class Channels {
 public:
  explicit Channels(std::size_t actors) : lines_(actors) {}

  // Puts a message on the channel no earlier than `ready`, for `occupancy`; its start.
  Nanoseconds take(std::int32_t from, std::int32_t to, Nanoseconds ready, Nanoseconds occupancy) {
    Line& line = this->line(from, to);
    const Nanoseconds start = std::max(ready, line.free_at);
    line.free_at = start + occupancy;
    return start;
  }

 private:
  struct Line {
    std::int32_t to = 0;
    Nanoseconds free_at = 0;
  };

  Line& line(std::int32_t from, std::int32_t to) {
    std::vector<Line>& lines = lines_[static_cast<std::size_t>(from)];
    for (Line& line : lines) {
      if (line.to == to) return line;
    }
    return lines.emplace_back(Line{.to = to});
  }

  std::vector<std::vector<Line>> lines_;  // by sender
};

}  // namespace penstock
