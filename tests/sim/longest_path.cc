#include "longest_path.h"

#include <algorithm>
#include <map>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

#include "dependencies.h"

namespace penstock {
namespace {

// An edge's weight is how much later its target is than its source.
using Delay = boost::property<boost::edge_weight_t, Nanoseconds>;
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, Delay>;

// An op or a pair is two vertices: its start and, behind it, its end.
struct Vertices {
  std::map<Op, std::size_t> start_of;
  std::vector<Nanoseconds> duration;
  std::vector<std::pair<std::size_t, std::size_t>> neighbours;  // starts on one lane
};

std::size_t end_of(std::size_t start) {
  return start + 1;
}

Vertices vertices_of(const Schedule& schedule, const CostTable& costs) {
  Vertices vertices;
  for (const std::vector<Step>& order : schedule.order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Nanoseconds duration = costs.duration(order[i].op);
      if (order[i].overlaps_previous) {
        Nanoseconds& pair = vertices.duration.back();
        pair = costs.overlap_fb.value_or(pair + duration);
      } else {
        vertices.duration.push_back(duration);
        const std::size_t start = 2 * (vertices.duration.size() - 1);
        if (i > 0) vertices.neighbours.push_back({start - 2, start});
      }
      vertices.start_of[order[i].op] = 2 * (vertices.duration.size() - 1);
    }
  }
  return vertices;
}

// The message between two stages on different actors belongs to the boundary behind the earlier.
Nanoseconds delay_of(const Pipeline& pipeline, const CostTable& costs, const Op& from,
                     const Op& to) {
  const auto stage = [](const Op& op) { return static_cast<std::size_t>(op.stage); };
  if (pipeline.stages[stage(from)].actor == pipeline.stages[stage(to)].actor) return 0;
  const Op& earlier = from.kind == OpKind::Forward ? from : to;
  return costs.stages[stage(earlier)].message.latency;
}

}  // namespace

Nanoseconds longest_path(const RandomSchedule& random, const CostTable& costs) {
  const Pipeline& pipeline = random.schedule.pipeline;
  const Vertices vertices = vertices_of(random.schedule, costs);
  Graph graph(2 * vertices.duration.size());
  for (std::size_t i = 0; i < vertices.duration.size(); ++i) {
    boost::add_edge(2 * i, end_of(2 * i), Delay(vertices.duration[i]), graph);
  }
  for (const auto& [before, after] : vertices.neighbours) {
    boost::add_edge(end_of(before), after, Delay(0), graph);
  }
  for (const auto& [op, start] : vertices.start_of) {
    // What these need is on their own stage, in front of them on the lane.
    if (op.kind == OpKind::Recompute || op.kind == OpKind::Update) continue;
    for (const Op& input : needs(pipeline, random.splits, op)) {
      const std::size_t source = end_of(vertices.start_of.at(input));
      boost::add_edge(source, start, Delay(delay_of(pipeline, costs, input, op)), graph);
    }
    for (const Op& first : starts_to_end(pipeline, op)) {
      boost::add_edge(vertices.start_of.at(first), end_of(start), Delay(0), graph);
    }
  }
  std::vector<std::size_t> order;
  boost::topological_sort(graph, std::back_inserter(order));  // users first
  std::vector<Nanoseconds> time(order.size(), 0);
  for (auto vertex = order.rbegin(); vertex != order.rend(); ++vertex) {
    for (const auto& edge : boost::make_iterator_range(boost::in_edges(*vertex, graph))) {
      const Nanoseconds delay = boost::get(boost::edge_weight, graph, edge);
      time[*vertex] = std::max(time[*vertex], time[boost::source(edge, graph)] + delay);
    }
  }
  // Waiting for room at the very end makes no span: the last thing that runs ends the step.
  Nanoseconds longest = 0;
  for (std::size_t i = 0; i < vertices.duration.size(); ++i) {
    longest = std::max(longest, time[2 * i] + vertices.duration[i]);
  }
  return longest;
}

}  // namespace penstock
