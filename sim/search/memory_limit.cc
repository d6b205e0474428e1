#include "memory_limit.h"

#include <algorithm>

#include <fmt/format.h>

#include "penstock/index.h"

namespace penstock {
namespace {

// By stage: how many come before it on its route.
std::vector<std::int32_t> places_on_routes(const Pipeline& pipeline) {
  std::vector<std::int32_t> place(pipeline.stages.size(), 0);
  for (const Route& route : pipeline.routes) {
    for (std::size_t i = 0; i < route.size(); ++i) {
      place[index(route[i])] = static_cast<std::int32_t>(i);
    }
  }
  return place;
}

// By actor: the most that a single microbatch takes up.
std::vector<Room> rooms_of_one(const Instance& instance) {
  const std::size_t microbatches = instance.pipeline().microbatches.size();
  std::vector<Room> rooms(index(instance.actors()) * microbatches);
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    const std::int32_t actor = instance.node(kNodesPerUnit * unit).actor;
    rooms[index(actor) * microbatches + index(instance.forward_of(unit).microbatch)] +=
        instance.room(unit);
  }
  std::vector<Room> most(index(instance.actors()));
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    Room& room = most[i / microbatches];
    room = {std::max(room.parts, rooms[i].parts), std::max(room.bytes, rooms[i].bytes)};
  }
  return most;
}

std::int64_t weights_of(const Instance& instance, std::int32_t actor) {
  std::int64_t bytes = 0;
  for (std::size_t stage = 0; stage < instance.pipeline().stages.size(); ++stage) {
    if (instance.pipeline().stages[stage].actor != actor) continue;
    bytes += instance.costs().stages[stage].weight_bytes;
  }
  return bytes;
}

}  // namespace

std::vector<Problem> unmet_limits(const Instance& instance, const std::vector<double>& in_flight,
                                  const std::vector<std::int64_t>& bytes) {
  std::vector<Problem> problems;
  const std::vector<Room> least = rooms_of_one(instance);
  for (std::int32_t actor = 0; actor < instance.actors(); ++actor) {
    const std::string where = fmt::format("memory limit, actor {}", actor);
    const Room& limit = instance.limit(actor);
    if (least[index(actor)].parts > limit.parts) {
      problems.push_back({where,
                          fmt::format("{} microbatches in flight are allowed, and no schedule "
                                      "holds less than one",
                                      in_flight[index(actor)]),
                          "at least 1"});
    }
    if (least[index(actor)].bytes > limit.bytes) {
      const std::int64_t weights = weights_of(instance, actor);
      problems.push_back(
          {where,
           fmt::format("{} bytes are allowed, and no schedule holds less than weights ({}) and the "
                       "activations of one microbatch ({})",
                       bytes[index(actor)], weights, least[index(actor)].bytes),
           fmt::format("at least {}", weights + least[index(actor)].bytes)});
    }
  }
  return problems;
}

Order one_at_a_time(const Instance& instance) {
  Order order{.items = std::vector<std::vector<Item>>(index(instance.actors())),
              .split = std::vector<char>(index(instance.units()), 0)};
  std::vector<std::vector<std::int32_t>> units(instance.pipeline().microbatches.size());
  const auto add = [&](std::int32_t node) {
    order.items[index(instance.node(node).actor)].push_back({.first = node});
  };
  const std::vector<std::int32_t> place = places_on_routes(instance.pipeline());
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    units[index(instance.forward_of(unit).microbatch)].push_back(unit);
  }
  for (std::vector<std::int32_t>& list : units) {
    std::stable_sort(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) {
      const Op& one = instance.forward_of(a);
      const Op& other = instance.forward_of(b);
      if (one.slice != other.slice) return one.slice < other.slice;
      return place[index(one.stage)] < place[index(other.stage)];
    });
    for (const std::int32_t unit : list) add(kNodesPerUnit * unit);
    for (auto unit = list.rbegin(); unit != list.rend(); ++unit) {
      add(kNodesPerUnit * *unit + 1);
      if (instance.may_be_whole(*unit)) continue;
      order.split[index(*unit)] = 1;
      add(kNodesPerUnit * *unit + 2);
    }
  }
  return order;
}

}  // namespace penstock
