// File: search.h. Looks for a better order than the catalogue's, for given costs.
//
// A planner: it proposes orders, prices them, and keeps the best. The start is every schedule of
// the catalogue that fits the sizes and limits, and list scheduling under many priority rules; then
// a tabu search moves ops along the critical path (Nowicki and Smutnicki, Management Science 42(6),
// 1996). Small instances are solved as an integer programme (Qi et al., Zero Bubble Pipeline
// Parallelism, arXiv 2401.10241, appendix G). docs/search.md tells it all.
//
// Implemented by the shared module `libpenstock-search.so`: a program that only simulates never
// pays for loading what a search needs. load_search() opens it at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/costs.h"
#include "penstock/generate.h"
#include "penstock/schedule.h"

namespace penstock {

// Where the stages may sit. Any: looped, in a V, or wherever a schedule of the catalogue puts them,
// mirrored copies of the weights included.
enum class StagePlacement : std::uint8_t { Any, Loop, V };

struct SearchOptions {
  std::int32_t actors = 1;
  std::int32_t chunks = 1;  // stages per actor
  std::int32_t microbatches = 1;
  StagePlacement placement = StagePlacement::Any;
  // false: every backward is whole; true: every one is split into I and W. Absent: as the costs
  // allow, and whatever is faster.
  std::optional<bool> split = {};
  // What an actor may hold, one value for all or one per actor; empty: without limit.
  std::vector<double> in_flight = {};    // microbatches, as ActorMetrics::peak_in_flight counts
  std::vector<std::int64_t> bytes = {};  // weights and activations: ActorMetrics::peak_bytes
  // Orders to price. Building one by list scheduling counts as three, one of over 4096 nodes as
  // several.
  std::int64_t budget = 20'000;
  // Nodes of the integer programme's tree, per placement; 0: do without it.
  std::int32_t tree = 200;
  std::uint64_t seed = 0;
  // The costs are of whole actors, one entry each: every placement shares them out (share_costs).
  bool whole_actors = false;
};

struct SearchResult {
  Schedule schedule;         // check() finds no fault in it
  Nanoseconds makespan = 0;  // simulate()'s, with asynchronous transfers
  Nanoseconds bound = 0;     // no order within the options is faster
  std::string origin;        // what it grew from: a schedule's name, "list scheduling", ..
  // (makespan - bound) / bound; 0: proven to be the best.
  double gap() const {
    return bound > 0 ? static_cast<double>(makespan - bound) / static_cast<double>(bound) : 0;
  }
};

// `costs` gives the stages of one copy of the model in forward order, actors * chunks of them, or
// whole actors.
// Same input, same answer: the budget is counted, not timed. Throws Error with every problem when
// the costs do not price those stages or a limit is below what one microbatch needs (the least
// that works is the hint). Thread-safe.
//   search(parse_costs("F=1,I=1,W=1,latency=0.2", 4), {.actors = 4, .microbatches = 8,
//                                                       .in_flight = {4}})
SearchResult search(const CostTable& costs, const SearchOptions& options);

using Search = SearchResult(const CostTable&, const SearchOptions&);

// Opens the module beside the running program (or in `PENSTOCK_SEARCH_MODULE`); the same function
// every time. Throws RunError when it is not there. Implemented in tools/load_module.cc.
Search& load_search();

}  // namespace penstock
