// File: simulate.h. Predicts: Program and costs in, Timeline out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "penstock/costs.h"
#include "penstock/program.h"
#include "penstock/timeline.h"

namespace penstock {

// How transfers and the compute lane get in each other's way.
enum class P2p : std::uint8_t {
  // One channel per directed pair of actors; a receive is awaited at first use. What passes a
  // CostTable::links together shares it.
  Async,
  // All transfers of an actor in one FIFO in the order of its list, sends and receives alike, as on
  // one communication stream of a GPU: a transfer starts when it is at the head of both ends'
  // FIFOs. The sender's goes on when the bytes have left, the receiver's when they have arrived.
  SingleStream,
  // Rendezvous: a transfer holds the compute lanes of both ends for latency and occupancy. A run of
  // neighbouring transfers in an actor's list is one batch that is over when all are.
  Blocking,
};
std::string_view name(P2p mode);  // "async", "single_stream", "blocking"
std::optional<P2p> parse_p2p(std::string_view text);

inline constexpr double kMostJitter = 1000;
inline constexpr double kMostSlowDown = 1000;

struct SimulateOptions {
  P2p p2p = P2p::Async;
  // Each duration is multiplied by 1 + jitter * u, u uniform in [0, 1) from a counter-based
  // generator of (seed, op): the same op gets the same factor under every schedule.
  double jitter = 0;  // at most kMostJitter
  std::uint64_t seed = 0;
  // slow_down[actor] multiplies that actor's durations, by at most kMostSlowDown; empty: all 1.
  std::vector<double> slow_down = {};
};

// A program with Verdicts is simulated step after step until every step is like the one before: the
// result is one of those, with Timeline::period, for updates that all turn out to be right.
//
// Discrete events in integer nanoseconds, ordered by (time, number): same input, same bytes out.
// REQUIRES: missing_costs(costs, program.schedule).empty(). Throws Error, naming who waits for
// whom, when the transfers deadlock (a Linear program's cannot, nor can a Paired one's under
// Blocking), and when an option is out of range or a step could overflow the clock. Thread-safe.
Timeline simulate(const Program& program, const CostTable& costs,
                  const SimulateOptions& options = {});

// The makespan alone by one sweep over the linear order: a second way to it, for tests to compare
// simulate() with, and the bound that benchmarks measure it against. Equal to simulate()'s where
// channels and links have unlimited bandwidth and p2p is Async. REQUIRES: can_sweep(costs),
// !has_verdict(program).
Nanoseconds sweep_makespan(const Program& program, const CostTable& costs);
bool can_sweep(const CostTable& costs);

}  // namespace penstock
