// File: slot_table.h. In which time slot each pass of each microbatch runs, for the V schedules
// that repeat one microbatch's pattern and then move its ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

using Slots = std::vector<std::int32_t>;     // of one pass, by microbatch, ascending
using SlotLane = std::vector<Slots>;         // [pass]: what a pass is, the schedule says
using SlotTable = std::vector<SlotLane>;     // [actor]
constexpr std::int32_t kSlotsPerPeriod = 6;  // from one microbatch to the next

// `first[actor]`: the slots of the first microbatch, pass by pass.
template <typename Block>
SlotTable repeated(const Block& first, std::int32_t microbatches) {
  SlotTable table;
  for (const auto& passes : first) {
    SlotLane& lane = table.emplace_back();
    for (const std::int32_t slot : passes) {
      Slots& slots = lane.emplace_back();
      for (std::int32_t i = 0; i < microbatches; ++i) slots.push_back(slot + kSlotsPerPeriod * i);
    }
  }
  return table;
}

struct SlotEntry {
  std::int32_t slot;
  std::size_t actor;
  std::size_t pass;
  std::size_t microbatch;
};

// Every entry, by slot, then actor, then pass.
std::vector<SlotEntry> by_time(const SlotTable& table);

}  // namespace penstock
