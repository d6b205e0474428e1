// File: wire.h. How messages move: one implementation per p2p mode.
#pragma once

#include <cstdint>
#include <memory>

#include "penstock/program.h"
#include "penstock/simulate.h"

namespace penstock {

class Engine;
class Prices;

class Wire {
 public:
  virtual ~Wire() = default;

  // The compute lane of `actor` is at action `cursor`, a Send or a Receive. True: it goes on at
  // once; false: it is held until Engine::release.
  virtual bool reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) = 0;

  // An event that the wire pushed itself.
  virtual void handle(Engine& engine, std::int32_t subject, Nanoseconds now) = 0;

  // When nothing moves any more: the transfer that holds `actor`, which wants `message` (-1: whose
  // lane is held at `cursor`), and the actor at its other end.
  struct Waiting {
    std::int32_t message = -1;
    std::int32_t actor = -1;
  };
  virtual Waiting waits_for(const Engine& engine, std::int32_t actor, std::int32_t cursor,
                            std::int32_t message) const = 0;
};

// Throws Error when `costs` have links that the mode does not share.
std::unique_ptr<Wire> make_wire(P2p mode, const Program& program, const CostTable& costs);

}  // namespace penstock
