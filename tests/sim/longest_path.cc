#include "longest_path.h"

#include <algorithm>
#include <map>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

#include "dependencies.h"

namespace penstock {
namespace {

// A vertex is an op or a pair; an edge's weight is the delay behind its source's end.
using Delay = boost::property<boost::edge_weight_t, Nanoseconds>;
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, Delay>;

struct Vertices {
  std::map<Op, std::size_t> of;
  std::vector<Nanoseconds> duration;
  std::vector<std::pair<std::size_t, std::size_t>> neighbours;  // on a lane
};

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
        const std::size_t vertex = vertices.duration.size() - 1;
        if (i > 0) vertices.neighbours.push_back({vertex - 1, vertex});
      }
      vertices.of[order[i].op] = vertices.duration.size() - 1;
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
  Graph graph(vertices.duration.size());
  for (const auto& [before, after] : vertices.neighbours) {
    boost::add_edge(before, after, Delay(0), graph);
  }
  for (const auto& [op, vertex] : vertices.of) {
    for (const Op& input : needs(pipeline, random.splits, op)) {
      const std::size_t source = vertices.of.at(input);
      boost::add_edge(source, vertex, Delay(delay_of(pipeline, costs, input, op)), graph);
    }
  }
  std::vector<std::size_t> order;
  boost::topological_sort(graph, std::back_inserter(order));  // users first
  std::vector<Nanoseconds> end(order.size(), 0);
  for (auto vertex = order.rbegin(); vertex != order.rend(); ++vertex) {
    Nanoseconds start = 0;
    for (const auto& edge : boost::make_iterator_range(boost::in_edges(*vertex, graph))) {
      const Nanoseconds delay = boost::get(boost::edge_weight, graph, edge);
      start = std::max(start, end[boost::source(edge, graph)] + delay);
    }
    end[*vertex] = start + vertices.duration[*vertex];
  }
  return *std::max_element(end.begin(), end.end());
}

}  // namespace penstock
