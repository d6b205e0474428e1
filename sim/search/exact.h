// File: exact.h. The fastest order of a small instance, as an integer programme.
#pragma once

#include <cstdint>
#include <optional>

#include "instance.h"
#include "order.h"
#include "relaxed.h"

namespace penstock {

struct Exact {
  Nanoseconds bound = 0;       // no order is faster
  std::optional<Order> order;  // faster than what was reached, if one was found
};

// A start time for every node, and for every two nodes on one actor that can go either way, which
// comes first; memory limits where an actor holds several stages, elsewhere they are precedences
// already (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, appendix G). Looks only
// for what is faster than `reached`; what that settles (windows.h) needs no variable. Stops after
// `nodes` of the tree. Nothing beyond `bound` (which holds) when more than kMostOpen pairs are
// open. Takes no pairs of overlapped ops into its orders; its bound holds with them, as `relaxed`
// does.
constexpr std::size_t kMostOpen = 200;
Exact solve_exactly(const Instance& instance, const Relaxed& relaxed, Nanoseconds bound,
                    Nanoseconds reached, std::int32_t nodes);

}  // namespace penstock
