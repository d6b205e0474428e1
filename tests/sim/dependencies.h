// File: dependencies.h. What each op needs, written down a second time for tests: from the rules of
// the field, not from src/depend.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/schedule.h"

namespace penstock {

// Every op of a pipeline where stage s splits its backward if splits[s].
std::vector<Op> all_ops(const Pipeline& pipeline, const std::vector<bool>& splits);

// The ops that `op` needs.
std::vector<Op> needs(const Pipeline& pipeline, const std::vector<bool>& splits, const Op& op);

// The op that has to start before `op` can end: its result needs room in a queue. None or one.
std::vector<Op> starts_to_end(const Pipeline& pipeline, const Op& op);

}  // namespace penstock
