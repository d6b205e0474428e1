#include "steady_step.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace penstock {
namespace {

using Times = std::vector<Nanoseconds>;

// Uneven actors that start together may take many steps until the slowest holds all others back;
// the mean is close by then.
constexpr std::size_t kMostSteps = 256;
constexpr std::size_t kLongestCycle = 8;

// How much later all of `after` is than `before`, if it is the same for each.
std::optional<Nanoseconds> shift(const Times& before, const Times& after) {
  const Nanoseconds first = after[0] - before[0];
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] - before[i] != first) return std::nullopt;
  }
  return first;
}

// The time per step once the starts repeat themselves, every step or every few.
std::optional<Nanoseconds> period_of(const std::vector<Times>& starts) {
  const std::size_t last = starts.size() - 1;
  for (std::size_t cycle = 1; cycle <= std::min(last, kLongestCycle); ++cycle) {
    const auto moved = shift(starts[last - cycle], starts[last]);
    if (moved) return *moved / static_cast<Nanoseconds>(cycle);
  }
  return std::nullopt;
}

Nanoseconds mean_period(const std::vector<Times>& starts) {
  const std::size_t last = starts.size() - 1;
  const std::size_t half = last / 2;
  return (starts[last][0] - starts[half][0]) / static_cast<Nanoseconds>(last - half);
}

void move_to_zero(Timeline& timeline) {
  Nanoseconds first = kNever;
  for (const Span& span : timeline.spans) first = std::min(first, span.start);
  for (Span& span : timeline.spans) {
    span.start -= first;
    span.end -= first;
  }
  for (Transfer& transfer : timeline.transfers) {
    transfer.ready -= first;
    transfer.start -= first;
    transfer.end -= first;
  }
}

}  // namespace

Timeline steady_step(const std::function<Engine()>& make_engine) {
  Timeline timeline;
  std::vector<Times> starts;
  std::optional<Nanoseconds> period;
  while (!period && starts.size() <= kMostSteps) {
    Engine engine = make_engine();
    if (starts.empty()) starts.emplace_back(engine.actors(), 0);
    timeline = engine.run(starts.back());
    starts.push_back(engine.ended());
    period = period_of(starts);
  }
  timeline.period = period.value_or(mean_period(starts));
  move_to_zero(timeline);
  return timeline;
}

}  // namespace penstock
