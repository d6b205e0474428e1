// File: shared_wire.h. Transfers beside the computation over links that channels share: p2p mode
// `async` where costs name such links.
#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "engine.h"
#include "penstock/costs.h"
#include "wire.h"

namespace penstock {

// As in AsyncWire a message goes on its channel when it is sent and the channel is free. How fast
// its bytes leave changes whenever another message enters or leaves a link that both pass, so that
// each arrival is an event.
class SharedWire : public Wire {
 public:
  SharedWire(const Program& program, const CostTable& costs);

  bool reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) override;
  void handle(Engine& engine, std::int32_t subject, Nanoseconds now) override;
  Waiting waits_for(const Engine& engine, std::int32_t actor, std::int32_t cursor,
                    std::int32_t message) const override;

 private:
  struct Sent {
    std::int32_t message = 0;
    Nanoseconds ready = 0;
  };
  // A directed pair of actors. Of the messages that wait at it the first is under way.
  struct Channel {
    std::vector<std::int32_t> links = {};
    std::deque<Sent> queue = {};
    Nanoseconds start = 0;  // of the first
    double limit = 0;       // of it: bytes per nanosecond
    double left = 0;        // bytes of it at `at`
    Nanoseconds at = 0;
    double rate = 0;           // since then
    Nanoseconds end = kNever;  // at this rate
  };

  static void start_first(const Engine& engine, Channel& channel, Nanoseconds now);
  static void arrive(Engine& engine, Channel& channel, Nanoseconds now);
  void share(Nanoseconds now);
  Nanoseconds first_end() const;
  void plan(Engine& engine, Nanoseconds at);

  std::vector<Channel> channels_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> channel_by_pair_;
  std::vector<double> capacity_;       // by link: bytes per nanosecond
  std::vector<std::int32_t> running_;  // channels with a message under way, by number
  std::int32_t plans_ = 0;             // the latest event's number: those before it are void
  Nanoseconds next_ = kNever;          // and its time
};

}  // namespace penstock
