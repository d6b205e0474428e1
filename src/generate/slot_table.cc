#include "slot_table.h"

#include <algorithm>
#include <tuple>

namespace penstock {

std::vector<SlotEntry> by_time(const SlotTable& table) {
  std::vector<SlotEntry> entries;
  for (std::size_t actor = 0; actor < table.size(); ++actor) {
    for (std::size_t pass = 0; pass < table[actor].size(); ++pass) {
      const Slots& slots = table[actor][pass];
      for (std::size_t microbatch = 0; microbatch < slots.size(); ++microbatch) {
        entries.push_back({slots[microbatch], actor, pass, microbatch});
      }
    }
  }
  std::sort(entries.begin(), entries.end(), [](const SlotEntry& a, const SlotEntry& b) {
    return std::tie(a.slot, a.actor, a.pass) < std::tie(b.slot, b.actor, b.pass);
  });
  return entries;
}

}  // namespace penstock
