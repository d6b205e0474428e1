// File: request.h. What a search is asked for: its faults, and the placements that it allows.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/pipeline.h"
#include "penstock/search.h"

namespace penstock {

// Everything that keeps the options from being searched at those costs.
std::vector<Problem> faults(const CostTable& costs, const SearchOptions& options);

// What the stages of a placement cost. REQUIRES: faults() finds nothing, or looks for it.
CostTable costs_for(const CostTable& given, const SearchOptions& options, const Pipeline& pipeline);

// One route over one copy of the model: the loop, the V, or both where they differ.
std::vector<Pipeline> placements(const SearchOptions& options);

// One value for each of `actors`. REQUIRES: none, one, or `actors` values are given.
template <class Value>
std::vector<Value> per_actor(const std::vector<Value>& given, std::int32_t actors) {
  if (given.size() != 1) return given;
  return std::vector<Value>(static_cast<std::size_t>(actors), given[0]);
}

}  // namespace penstock
