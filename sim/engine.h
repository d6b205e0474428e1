// File: engine.h. Runs a Program on a clock of integer nanoseconds.
//
// Each actor has a compute lane that goes through its list of actions. The lane stops where an op
// (or a pair, a reduction, an update) takes time, where an input is missing and where others must
// come first; events set it going again. What a Send or a Receive does is the p2p mode's business:
// wire.h.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "event_queue.h"
#include "penstock/program.h"
#include "penstock/timeline.h"
#include "prices.h"
#include "wire.h"

namespace penstock {

// Of a transfer whose time is not known yet.
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

class Engine {
 public:
  // `program` and `prices` must outlive it.
  Engine(const Program& program, const Prices& prices, std::unique_ptr<Wire> wire);

  // Runs to the end, once. `starts`: when each actor begins; empty: all at 0. Throws Error when the
  // actors wait for one another.
  Timeline run(std::span<const Nanoseconds> starts = {});
  // When each actor had gone through its list. REQUIRES: run() has returned.
  const std::vector<Nanoseconds>& ended() const { return ended_; }

  std::size_t actors() const { return lanes_.size(); }

  // For wires.
  const Program& program() const { return *program_; }
  const std::vector<Action>& actions(std::int32_t actor) const {
    return program_->actions[static_cast<std::size_t>(actor)];
  }
  const Message& message(std::int32_t index) const {
    return program_->messages[static_cast<std::size_t>(index)];
  }
  const Prices& prices() const { return *prices_; }
  const MessagePrice& price(std::int32_t message) const {
    return prices_->of_boundary(flights_[static_cast<std::size_t>(message)].boundary);
  }
  std::int32_t receiver(std::int32_t message) const {
    return flights_[static_cast<std::size_t>(message)].to;
  }
  EventQueue& events() { return events_; }
  // `message` was handed over at `ready`, is on its channel from `start` and usable at `end`, which
  // may lie ahead: if its consumer waits for it, that one gets its start.
  void deliver(std::int32_t message, Nanoseconds ready, Nanoseconds start, Nanoseconds end);
  // The lane of `actor`, held by a transfer, goes on behind the next `count` actions.
  void release(std::int32_t actor, std::int32_t count, Nanoseconds now);

 private:
  struct Lane {
    std::int32_t cursor = 0;     // the action it is at
    std::int32_t running = 0;    // how many actions it runs at once there (2: a pair); 0: waits
    std::int32_t next_span = 0;  // where its next span goes
    std::int32_t awaits = -1;    // the message that the op at the cursor needs
  };
  // What the running clock reads of a message: small, so that those under way stay in the cache,
  // while the long records in the timeline are only written.
  struct Flight {
    Nanoseconds end = kNever;   // when it is usable
    std::int32_t to = 0;        // actor
    std::int32_t boundary = 0;  // that prices it
  };
  // A reduction or norm exchange: nobody leaves before everybody came.
  struct Meeting {
    std::int32_t expected = 0;
    std::vector<std::int32_t> here = {};
  };

  // A moment that one actor's lane may have to wait for.
  struct Moment {
    Nanoseconds at = kNever;
    std::int32_t waiter = -1;  // an actor
  };

  Lane& lane(std::int32_t actor) { return lanes_[static_cast<std::size_t>(actor)]; }
  void handle(const Event& event);
  bool has_come(Moment& moment, std::int32_t actor, Nanoseconds now);
  void set(Moment& moment, Nanoseconds at);
  Moment& room_of(const Action& action);
  bool verify(std::int32_t actor, Nanoseconds now);
  void note_start(std::int32_t actor, std::int32_t count, Nanoseconds at);
  void proceed(std::int32_t actor, Nanoseconds now);
  void start_computes(std::int32_t actor, Nanoseconds now);
  void meet(std::int32_t actor, Nanoseconds now);
  void start_step_end(std::int32_t actor, Nanoseconds now);
  std::int32_t stage_of(const Action& action, std::int32_t actor) const;
  std::size_t meeting_of(const Action& action) const;
  void lay_out_spans();
  void lay_out_transfers();
  bool finished(std::int32_t actor) const;
  // stuck.cc: nothing moves any more, and somebody has not finished.
  Error stuck() const;
  struct Wait;
  Wait wait_of(std::int32_t actor) const;
  std::string text_of(std::int32_t actor, const Wait& wait) const;

  const Program* program_;
  const Prices* prices_;
  std::unique_ptr<Wire> wire_;
  Timeline timeline_;
  std::vector<Lane> lanes_;
  std::vector<Flight> flights_;    // by message
  std::vector<Meeting> meetings_;  // one per shared group, then the norm exchange
  std::vector<Moment> starts_;     // by compute: it starts; empty without bounded queues
  // With post-validation, by actor: the norms of those in front, and the last one's verdict, are
  // there.
  std::vector<Moment> norms_;
  std::vector<Moment> verdicts_;
  std::vector<Nanoseconds> ended_;  // by actor
  EventQueue events_;
};

}  // namespace penstock
