#include "relaxed.h"

#include <algorithm>
#include <utility>

#include "penstock/index.h"

namespace penstock {
namespace {

constexpr Nanoseconds kAbsent = -1;

void price(const Instance& instance, bool pairs, Relaxed& relaxed) {
  relaxed.duration.assign(index(instance.nodes()), kAbsent);
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    const std::int32_t first = kNodesPerUnit * unit;
    Nanoseconds& gradient = relaxed.duration[index(first + 1)];
    relaxed.duration[index(first)] = instance.duration(first);
    if (!instance.may_be_split(unit)) {
      gradient = instance.whole(unit);
      continue;
    }
    const Nanoseconds halves = instance.duration(first + 1) + instance.duration(first + 2);
    const bool both = instance.may_be_whole(unit);
    gradient = instance.duration(first + 1);
    if (both) gradient = std::min(gradient, instance.whole(unit));
    relaxed.duration[index(first + 2)] =
        (both ? std::min(halves, instance.whole(unit)) : halves) - gradient;
  }
  if (!pairs || !instance.costs().overlap_fb) return;
  // A pair may take less than its ops: each has at least half of it, or its own time. A whole
  // backward is one op, though it stands here as two.
  const Nanoseconds half = *instance.costs().overlap_fb / 2;
  for (Nanoseconds& duration : relaxed.duration) duration = std::min(duration, half);
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    if (!instance.may_be_whole(unit)) continue;
    const std::int32_t gradient = kNodesPerUnit * unit + 1;
    Nanoseconds& weight = relaxed.duration[index(gradient + 1)];
    weight = std::min(weight, half - relaxed.duration[index(gradient)]);
  }
}

class Precedences {
 public:
  Precedences(const Instance& instance, Relaxed& relaxed) : instance_(instance), relaxed_(relaxed) {
    relaxed_.inputs.resize(index(instance.nodes()));
    for (std::int32_t node = 0; node < instance.nodes(); ++node) {
      relaxed_.actor.push_back(instance.node(node).actor);
      if (exists(node)) add_inputs(node);
    }
    if (instance.microbatches_are_alike()) add_turns();
  }

 private:
  bool exists(std::int32_t node) const { return relaxed_.duration[index(node)] >= 0; }

  void add_inputs(std::int32_t node) {
    const Node& here = instance_.node(node);
    for (const std::int32_t own : here.own) {
      if (own != kNone) relaxed_.inputs[index(node)].push_back({own, 0});
    }
    if (here.input == kNone) return;
    const Node& giver = instance_.node(here.input);
    relaxed_.inputs[index(node)].push_back({here.input, giver.occupancy + giver.latency});
  }

  void add_turns() {
    std::vector<std::vector<std::int32_t>> units_of(instance_.pipeline().stages.size());
    for (std::int32_t unit = 0; unit < instance_.units(); ++unit) {
      units_of[index(instance_.forward_of(unit).stage)].push_back(unit);
    }
    std::vector<std::int32_t> stages_on(index(instance_.actors()), 0);
    for (const Stage& stage : instance_.pipeline().stages) ++stages_on[index(stage.actor)];
    for (std::size_t stage = 0; stage < units_of.size(); ++stage) {
      take_turns(units_of[stage]);
      const std::int32_t actor = instance_.pipeline().stages[stage].actor;
      if (stages_on[index(actor)] == 1) make_room(units_of[stage], actor);
    }
  }

  void take_turns(const std::vector<std::int32_t>& units) {
    for (std::size_t i = 1; i < units.size(); ++i) {
      for (std::int32_t kind = 0; kind < kNodesPerUnit; ++kind) {
        const std::int32_t node = kNodesPerUnit * units[i] + kind;
        if (!exists(node)) continue;
        relaxed_.inputs[index(node)].push_back({kNodesPerUnit * units[i - 1] + kind, 0});
      }
    }
  }

  void make_room(const std::vector<std::int32_t>& units, std::int32_t actor) {
    if (units.empty()) return;
    const Room& room = instance_.room(units[0]);
    const Room& limit = instance_.limit(actor);
    const bool has_weight = exists(kNodesPerUnit * units[0] + 2);
    const std::int64_t early = has_weight ? instance_.freed_early(units[0]).bytes : 0;
    const std::int64_t left = room.bytes - early;
    std::int64_t most = limit.parts / room.parts;
    // Of those whose W has not ended, each holds what its I leaves, at least, and the last one all.
    if (left > 0) most = std::min(most, (limit.bytes - room.bytes) / left + 1);
    wait_for_room(units, most, has_weight ? 2 : 1);
    if (early > 0) wait_for_room(units, limit.bytes / room.bytes, 1);
  }

  // The forward of each unit waits for the unit's `closer` that stands `most` before it.
  void wait_for_room(const std::vector<std::int32_t>& units, std::int64_t most,
                     std::int32_t closer) {
    for (auto i = static_cast<std::size_t>(most); i < units.size(); ++i) {
      const std::int32_t freed = kNodesPerUnit * units[i - static_cast<std::size_t>(most)];
      relaxed_.inputs[index(kNodesPerUnit * units[i])].push_back({freed + closer, 0});
    }
  }

  const Instance& instance_;
  Relaxed& relaxed_;
};

}  // namespace

Relaxed relax(const Instance& instance, bool pairs) {
  Relaxed relaxed;
  price(instance, pairs, relaxed);
  Precedences(instance, relaxed);
  put_in_sequence(relaxed);
  return relaxed;
}

bool put_in_sequence(Relaxed& relaxed) {
  relaxed.sequence.clear();
  std::size_t nodes = 0;
  std::vector<std::int32_t> missing(relaxed.duration.size(), 0);
  std::vector<std::vector<std::int32_t>> users(relaxed.duration.size());
  for (std::size_t node = 0; node < missing.size(); ++node) {
    for (const Precedence& precedence : relaxed.inputs[node]) {
      ++missing[node];
      users[index(precedence.input)].push_back(static_cast<std::int32_t>(node));
    }
    if (relaxed.duration[node] < 0) continue;
    ++nodes;
    if (missing[node] == 0) {
      relaxed.sequence.push_back(static_cast<std::int32_t>(node));
    }
  }
  for (std::size_t i = 0; i < relaxed.sequence.size(); ++i) {
    for (const std::int32_t user : users[index(relaxed.sequence[i])]) {
      if (--missing[index(user)] == 0) relaxed.sequence.push_back(user);
    }
  }
  return relaxed.sequence.size() == nodes;
}

Relaxed reversed(const Relaxed& relaxed) {
  Relaxed back{.duration = relaxed.duration,
               .actor = relaxed.actor,
               .inputs = std::vector<std::vector<Precedence>>(relaxed.inputs.size()),
               .sequence = {relaxed.sequence.rbegin(), relaxed.sequence.rend()}};
  for (std::size_t node = 0; node < relaxed.inputs.size(); ++node) {
    for (const Precedence& precedence : relaxed.inputs[node]) {
      back.inputs[index(precedence.input)].push_back(
          {static_cast<std::int32_t>(node), precedence.lag});
    }
  }
  return back;
}

}  // namespace penstock
