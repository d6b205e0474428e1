#include "rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "penstock/index.h"

namespace penstock {
namespace {

// By microbatch: how long its ops take.
std::vector<Nanoseconds> times_of(const Instance& instance) {
  std::vector<Nanoseconds> times(instance.pipeline().microbatches.size(), 0);
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    times[index(instance.forward_of(unit).microbatch)] +=
        instance.duration(kNodesPerUnit * unit) + instance.backward(unit);
  }
  return times;
}

// Every other one is taken from the front, the others come behind in reverse: 1 3 5 4 2.
std::vector<std::size_t> small_outside(const std::vector<std::size_t>& ascending) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < ascending.size(); i += 2) order.push_back(ascending[i]);
  for (std::size_t i = ascending.size() / 2; i > 0; --i) order.push_back(ascending[2 * i - 1]);
  return order;
}

// By stage: how many stages of its route sit on its actor before it.
std::vector<std::int64_t> chunks_before(const Pipeline& pipeline) {
  std::vector<std::int64_t> before(pipeline.stages.size(), 0);
  for (const Route& route : pipeline.routes) {
    std::vector<std::int64_t> met(index(pipeline.actors), 0);
    for (const std::int32_t stage : route) {
      before[index(stage)] = met[index(pipeline.stages[index(stage)].actor)]++;
    }
  }
  return before;
}

std::int64_t most_chunks(const Pipeline& pipeline) {
  const std::vector<std::int64_t> before = chunks_before(pipeline);
  return *std::max_element(before.begin(), before.end()) + 1;
}

std::int64_t rank_of(OpKind kind, First first) {
  constexpr std::int64_t kRanks[][3] = {{1, 0, 2}, {0, 1, 2}, {2, 0, 1}};  // F, B or I, W
  const std::int64_t* const ranks = kRanks[static_cast<std::size_t>(first)];
  if (kind == OpKind::Forward) return ranks[0];
  return kind == OpKind::BackwardWeight ? ranks[2] : ranks[1];
}

}  // namespace

std::vector<std::int64_t> turns_of(const Instance& instance, Turns turns) {
  const std::vector<Microbatch>& microbatches = instance.pipeline().microbatches;
  const std::vector<Nanoseconds> times = times_of(instance);
  std::vector<std::size_t> order(microbatches.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (turns != Turns::AsGiven) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return turns == Turns::LongestFirst ? times[a] > times[b] : times[a] < times[b];
    });
  }
  if (turns == Turns::ShortestOutside) order = small_outside(order);
  std::vector<std::int64_t> taken(instance.pipeline().routes.size(), 0);
  std::vector<std::int64_t> turn(microbatches.size());
  for (const std::size_t m : order) turn[m] = taken[index(microbatches[m].route)]++;
  return turn;
}

Rule rule_of(const Instance& instance, const Preference& preference,
             const std::vector<std::int64_t>& turn) {
  const std::vector<std::int64_t> before = chunks_before(instance.pipeline());
  const std::int64_t chunks = most_chunks(instance.pipeline());
  const std::int64_t per_kind = (static_cast<std::int64_t>(turn.size()) + 1) * chunks *
                                (std::int64_t{preference.group} + 1) * 64;
  Rule rule;
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    const Op& op = instance.forward_of(unit);
    const std::int64_t k = turn[index(op.microbatch)];
    const std::int64_t chunk = before[index(op.stage)];
    const std::int64_t slices = instance.pipeline().microbatches[index(op.microbatch)].slices();
    const auto key = [&](OpKind kind) {
      const bool forward = kind == OpKind::Forward;
      const std::int64_t round =
          k / preference.group * chunks + (forward ? chunk : chunks - 1 - chunk);
      const std::int64_t slice = forward ? op.slice : slices - 1 - op.slice;
      return rank_of(kind, preference.first) * per_kind +
             (round * preference.group + k % preference.group) * 64 +
             std::min<std::int64_t>(slice, 63);
    };
    for (const OpKind kind : {OpKind::Forward, OpKind::Backward, OpKind::BackwardWeight}) {
      rule.key.push_back(key(kind));
    }
    const bool split =
        preference.split ? instance.may_be_split(unit) : !instance.may_be_whole(unit);
    rule.split.push_back(split ? 1 : 0);
  }
  return rule;
}

std::vector<Preference> preferences(const Instance& instance) {
  const std::int64_t chunks = most_chunks(instance.pipeline());
  std::vector<std::int32_t> groups = {1};
  const auto microbatches = static_cast<std::int32_t>(instance.pipeline().microbatches.size());
  if (chunks > 1 && instance.actors() > 1) groups.push_back(instance.actors());
  if (chunks > 1 && microbatches > instance.actors()) groups.push_back(microbatches);
  std::vector<Preference> all;
  for (const bool split : {true, false}) {
    const bool possible = split ? instance.may_be_split(0) : instance.may_be_whole(0);
    if (!possible || (!split && instance.splitting_is_free())) continue;
    for (const First first : {First::Backward, First::Forward, First::BackwardAndWeight}) {
      if (!split && first == First::BackwardAndWeight) continue;
      for (const std::int32_t group : groups) all.push_back({first, group, split});
    }
  }
  return all;
}

std::vector<Turns> kinds_of_turns(const Instance& instance) {
  if (instance.microbatches_are_alike()) return {Turns::AsGiven};
  return {Turns::ShortestOutside, Turns::AsGiven, Turns::ShortestFirst, Turns::LongestFirst};
}

std::vector<std::int64_t> warm_up(const Instance& instance, double first, double step) {
  std::vector<std::int64_t> parts;
  for (std::int32_t actor = 0; actor < instance.actors(); ++actor) {
    const double microbatches = first + step * (instance.actors() - 1 - actor);
    parts.push_back(std::llround(
        std::ceil(microbatches * static_cast<double>(instance.parts_per_microbatch()) - 1e-9)));
  }
  return parts;
}

}  // namespace penstock
