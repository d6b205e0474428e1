#include "formats/kineto_clocks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "penstock/trace.h"

namespace penstock {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

// Per pair of actors, what the receiver's clock lacks against the sender's: the most that a
// producer ended after its consumer started. Negative where every message had time to spare.
std::map<Pair, Nanoseconds> lags(const Timeline& timeline) {
  std::map<Pair, Nanoseconds> lags;
  for (const Span& span : timeline.spans) {
    if (span.awaits < 0) continue;
    const Transfer& input = timeline.transfers[static_cast<std::size_t>(span.awaits)];
    const Nanoseconds lag = input.ready - span.start;
    const auto [entry, is_new] = lags.try_emplace({input.from, input.to}, lag);
    if (!is_new) entry->second = std::max(entry->second, lag);
  }
  return lags;
}

}  // namespace

std::vector<EarlyUse> early_uses(const Timeline& timeline) {
  std::map<Pair, EarlyUse> worst;
  for (const Span& span : timeline.spans) {
    if (span.awaits < 0) continue;
    const Transfer& input = timeline.transfers[static_cast<std::size_t>(span.awaits)];
    if (input.ready <= span.start) continue;
    EarlyUse& use = worst[{input.from, input.to}];
    const std::int32_t count = use.count + 1;
    if (input.ready - span.start > use.by) {
      use = {input.op, span.op, input.from, input.to, input.ready - span.start, 0};
    }
    use.count = count;
  }
  std::vector<EarlyUse> uses;
  for (const auto& [pair, use] : worst) uses.push_back(use);
  return uses;
}

// Longest paths from a clock that is right (Bellman and Ford): shift[to] >= shift[from] + lag.
std::vector<Nanoseconds> clock_shifts(const Timeline& timeline) {
  const std::map<Pair, Nanoseconds> edges = lags(timeline);
  std::vector<Nanoseconds> shift(static_cast<std::size_t>(timeline.actors), 0);
  for (std::int32_t round = 0; round <= timeline.actors; ++round) {
    bool changed = false;
    for (const auto& [pair, lag] : edges) {
      Nanoseconds& to = shift[static_cast<std::size_t>(pair.second)];
      const Nanoseconds least = shift[static_cast<std::size_t>(pair.first)] + lag;
      if (least <= to) continue;
      if (least > kLongestTrace) return {};
      to = least;
      changed = true;
    }
    if (!changed) return shift;
  }
  return {};  // a ring of actors that wait for each other: no clock explains it
}

}  // namespace penstock
