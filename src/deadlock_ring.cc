#include "deadlock_ring.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <fmt/format.h>

#include "order_place.h"
#include "penstock/index.h"

namespace penstock {
namespace {

// An actor waits for the result of an op, or with its own result for the op to start, which takes
// what the queue between them holds.
enum class WaitFor : std::uint8_t { Result, Start };

// Why one actor cannot go on.
struct Wait {
  std::size_t actor;
  Op at;           // its step that waits
  Op awaited;      // what it needs, as Dependencies gives it
  std::size_t by;  // the actor that runs it
  WaitFor what;
};

using WaitGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Wait>;

// What has no result is of the same actor, and there in its order.
bool lacks(const std::vector<std::uint8_t>& done, std::int32_t result) {
  return result >= 0 && done[index(result)] == 0;
}

std::vector<std::uint8_t> results_of(const Schedule& schedule, const Dependencies& dependencies,
                                     const LinearOrder& stuck) {
  std::vector<std::uint8_t> done(index(dependencies.results()), 0);
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    for (std::int32_t i = 0; i < stuck.taken[actor]; ++i) {
      const Op& op = schedule.order[actor][index(i)].op;
      const std::int32_t result = dependencies.result(op);
      if (result >= 0) done[index(result)] = 1;
    }
  }
  return done;
}

// The steps at which an actor cannot go on: one, or a pair.
std::vector<Op> stuck_at(const std::vector<Step>& steps, std::int32_t first) {
  std::vector<Op> ops;
  if (index(first) == steps.size()) return ops;
  const std::int32_t end = first + steps_together(steps, first);
  for (std::int32_t i = first; i < end; ++i) ops.push_back(steps[index(i)].op);
  return ops;
}

// An edge from each actor that cannot go on to each actor that it waits for: for an input or, when
// all inputs are there, for room in a queue.
WaitGraph wait_graph(const Schedule& schedule, const Dependencies& dependencies,
                     const LinearOrder& stuck) {
  const std::vector<std::uint8_t> done = results_of(schedule, dependencies, stuck);
  WaitGraph graph(schedule.order.size());
  const auto add = [&](std::size_t actor, const Op& op, const Op& awaited, WaitFor what) {
    const auto by = index(schedule.pipeline.stages[index(awaited.stage)].actor);
    boost::add_edge(actor, by, Wait{actor, op, awaited, by, what}, graph);
  };
  std::vector<std::vector<Op>> started;  // by actor: ops whose results find no room
  for (std::size_t actor = 0; actor < schedule.order.size(); ++actor) {
    std::vector<Op> ops = stuck_at(schedule.order[actor], stuck.taken[actor]);
    for (const Op& op : ops) {
      for (const Op& input : dependencies.inputs(op)) {
        if (lacks(done, dependencies.result(input))) add(actor, op, input, WaitFor::Result);
      }
    }
    if (boost::out_degree(actor, graph) > 0) ops.clear();
    started.push_back(std::move(ops));
  }
  for (std::size_t actor = 0; actor < started.size(); ++actor) {
    for (const Op& op : started[actor]) {
      const std::optional<Op> room = dependencies.room_for(op);
      if (!room || !lacks(done, dependencies.result(*room))) continue;
      const auto by = index(schedule.pipeline.stages[index(room->stage)].actor);
      const std::vector<Op>& there = started[by];
      if (std::find(there.begin(), there.end(), *room) != there.end()) continue;
      add(actor, op, *room, WaitFor::Start);
    }
  }
  return graph;
}

// The op of the schedule that gives what `awaited` names: I where B is meant and I is run.
Op producer(const std::vector<Step>& steps, const Op& awaited) {
  for (const Step& step : steps) {
    Op meant = step.op;
    if (meant.kind == OpKind::BackwardInput) meant.kind = OpKind::Backward;
    if (meant == awaited) return step.op;
  }
  return awaited;
}

// The first wait of `actor` that stays inside its strong component: a step along its ring.
const Wait* wait_inside(std::size_t actor, const WaitGraph& graph,
                        const std::vector<std::size_t>& component) {
  const auto [begin, end] = boost::out_edges(actor, graph);
  for (auto edge = begin; edge != end; ++edge) {
    if (component[boost::target(*edge, graph)] == component[actor]) return &graph[*edge];
  }
  return nullptr;
}

// Follows waits inside the component from `start` until an actor comes again: that actor's ring.
// `steps` (by actor, all 0 in this component) marks the way.
std::vector<Wait> ring_from(const Wait* start, const WaitGraph& graph,
                            const std::vector<std::size_t>& component,
                            std::vector<std::size_t>& steps) {
  std::vector<Wait> path;
  const Wait* wait = start;
  while (steps[wait->actor] == 0) {
    path.push_back(*wait);
    steps[wait->actor] = path.size();
    wait = wait_inside(wait->by, graph, component);
  }
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(steps[wait->actor]) - 1);
  return path;
}

Problem describe(const std::vector<Wait>& ring, const Schedule& schedule, const LinearOrder& stuck,
                 const std::string& source) {
  std::string what = "deadlock:";
  for (const Wait& wait : ring) {
    const std::vector<Step>& other = schedule.order[wait.by];
    const std::vector<Op> other_at = stuck_at(other, stuck.taken[wait.by]);
    const Op& awaited = producer(other, wait.awaited);
    what += fmt::format("{} actor {} waits at {} for {}{}, ", &wait == &ring.front() ? "" : ";",
                        wait.actor, to_string(wait.at), to_string(awaited),
                        wait.what == WaitFor::Start ? " to make room in the queue" : "");
    what += std::find(other_at.begin(), other_at.end(), awaited) != other_at.end()
                ? fmt::format("where actor {} itself waits", wait.by)
                : fmt::format("which actor {} runs after {}", wait.by, to_string(other_at.front()));
  }
  const std::size_t first = ring.front().actor;
  return {order_place(source, schedule, static_cast<std::int32_t>(first), stuck.taken[first]),
          std::move(what),
          "break the ring: one of these actors must run what is awaited before it waits itself"};
}

}  // namespace

std::vector<Problem> deadlock_rings(const Schedule& schedule, const Dependencies& dependencies,
                                    const LinearOrder& stuck, const std::string& source) {
  const WaitGraph graph = wait_graph(schedule, dependencies, stuck);
  std::vector<std::size_t> component(boost::num_vertices(graph), 0);
  const std::size_t components = boost::strong_components(
      graph,
      boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<std::uint8_t> told(components, 0);
  std::vector<std::size_t> steps(component.size(), 0);
  std::vector<Problem> problems;
  for (std::size_t actor = 0; actor < component.size(); ++actor) {
    const Wait* wait = wait_inside(actor, graph, component);
    if (wait == nullptr || std::exchange(told[component[actor]], 1) != 0) continue;
    problems.push_back(describe(ring_from(wait, graph, component, steps), schedule, stuck, source));
  }
  return problems;
}

}  // namespace penstock
