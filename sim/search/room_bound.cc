// The bound that the memory limit sets.
#include <algorithm>
#include <cmath>
#include <limits>

#include "penstock/index.h"
#include "relaxed.h"

namespace penstock {
namespace {

// By unit: the least time from the start of its forward to the end of its B or I. Slices of one
// microbatch wait for each other, too; that is left out.
std::vector<Nanoseconds> stays(const Instance& instance, const Relaxed& relaxed) {
  std::vector<Nanoseconds> stay(index(instance.units()), 0);
  const auto lag = [&](std::int32_t user, std::int32_t input) {
    for (const Precedence& precedence : relaxed.inputs[index(user)]) {
      if (precedence.input == input) return precedence.lag;
    }
    return Nanoseconds{0};
  };
  for (const std::int32_t node : relaxed.sequence) {
    if (kind_of(node) != OpKind::Backward) continue;
    const std::int32_t unit = unit_of(node);
    const std::int32_t forward = kNodesPerUnit * unit;
    Nanoseconds beyond = 0;
    for (const Precedence& precedence : relaxed.inputs[index(node)]) {
      const std::int32_t next = unit_of(precedence.input);
      const Op& op = instance.forward_of(next);
      const bool follows = kind_of(precedence.input) == OpKind::Backward &&
                           op.stage != instance.forward_of(unit).stage;
      if (!follows) continue;
      beyond =
          std::max(beyond, lag(kNodesPerUnit * next, forward) + stay[index(next)] + precedence.lag);
    }
    stay[index(unit)] = relaxed.duration[index(forward)] + beyond + relaxed.duration[index(node)];
  }
  return stay;
}

// The time in which `area` (room times time) passes through `limit`.
Nanoseconds passage(double area, std::int64_t limit) {
  return limit > 0
             ? static_cast<Nanoseconds>(std::floor(area / static_cast<double>(limit) * (1 - 1e-12)))
             : 0;
}

}  // namespace

Nanoseconds room_bound(const Instance& instance, const Relaxed& relaxed,
                       const std::vector<Nanoseconds>& heads,
                       const std::vector<Nanoseconds>& tails) {
  struct Lane {
    Nanoseconds head = std::numeric_limits<Nanoseconds>::max();
    Nanoseconds tail = std::numeric_limits<Nanoseconds>::max();
    double parts = 0;
    double bytes = 0;
  };
  std::vector<Lane> lanes(index(instance.actors()));
  const std::vector<Nanoseconds> stay = stays(instance, relaxed);
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    const std::int32_t forward = kNodesPerUnit * unit;
    Lane& lane = lanes[index(instance.node(forward).actor)];
    const std::int32_t last = relaxed.duration[index(forward + 2)] >= 0 ? forward + 2 : forward + 1;
    lane.head = std::min(lane.head, heads[index(forward)]);
    lane.tail = std::min(lane.tail, tails[index(last)]);
    const auto weight =
        static_cast<double>(std::max<Nanoseconds>(0, relaxed.duration[index(forward + 2)]));
    const double time = static_cast<double>(stay[index(unit)]) + weight;
    const Room& room = instance.room(unit);
    lane.parts += static_cast<double>(room.parts) * time;
    lane.bytes += static_cast<double>(room.bytes) * time -
                  static_cast<double>(instance.freed_early(unit).bytes) * weight;
  }
  Nanoseconds bound = 0;
  for (std::int32_t actor = 0; actor < instance.actors(); ++actor) {
    const Lane& lane = lanes[index(actor)];
    const Room& limit = instance.limit(actor);
    const Nanoseconds through =
        std::max(passage(lane.parts, limit.parts), passage(lane.bytes, limit.bytes));
    if (through > 0) bound = std::max(bound, lane.head + through + lane.tail);
  }
  return bound;
}

}  // namespace penstock
