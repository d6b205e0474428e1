// File: relaxed.h. What holds in every order of an instance: least durations, and what must come
// before what.
#pragma once

#include <cstdint>
#include <vector>

#include "instance.h"

namespace penstock {

struct Precedence {
  std::int32_t input = kNone;
  Nanoseconds lag = 0;  // from the input's end to the user's start: the message's time
};

// Nodes as the instance numbers them; one with a negative duration does not exist (a W where every
// backward is whole). Where both forms of a backward are allowed, its two nodes are the least that
// both forms have in common: a bound stays true, and is looser only where B is shorter than I + W.
struct Relaxed {
  std::vector<Nanoseconds> duration;
  std::vector<std::int32_t> actor;
  std::vector<std::vector<Precedence>> inputs;
  std::vector<std::int32_t> sequence;  // inputs before their users
};

// Where microbatches are alike, orders in which each stage takes them in turn are as good as any:
// the same op of the microbatch before comes first, and so does, on an actor with one stage and
// room for k microbatches, the end of the k-th before. `pairs`: overlapped pairs may occur.
Relaxed relax(const Instance& instance, bool pairs);

// Fills `sequence` from `inputs`. False when they go round in a circle.
bool put_in_sequence(Relaxed& relaxed);

// Time runs backwards.
Relaxed reversed(const Relaxed& relaxed);

// By node: no order starts it earlier. Longest paths, and whatever must precede a node on its actor
// runs there one after the other.
std::vector<Nanoseconds> heads_of(const Relaxed& relaxed);

// No order is faster. heads: heads_of(relaxed); tails: heads_of(reversed(relaxed)). On each actor,
// the best order with interruptions allowed (Jackson's preemptive schedule; Carlier, European
// Journal of Operational Research 11, 1982).
Nanoseconds preemptive_bound(const Relaxed& relaxed, const std::vector<Nanoseconds>& heads,
                             const std::vector<Nanoseconds>& tails);

// No order is faster: each activation takes up its room from the start of its forward, to the end
// of the route and back, until its backward has ended; all of them must pass through the limit.
Nanoseconds room_bound(const Instance& instance, const Relaxed& relaxed,
                       const std::vector<Nanoseconds>& heads,
                       const std::vector<Nanoseconds>& tails);

}  // namespace penstock
