#include "idle_walk.h"

namespace penstock {

std::string_view name(IdleCause cause) {
  constexpr std::string_view kNames[] = {"warmup",     "drain",   "dependency", "p2p",
                                         "collective", "blocked", "data",       "padding"};
  static_assert(std::size(kNames) == kIdleCauses);
  return kNames[static_cast<std::size_t>(cause)];
}

std::vector<Idle> idle_stretches(const Timeline& timeline) {
  std::vector<Idle> stretches;
  IdleWalk(timeline, [&](const Idle& idle) { stretches.push_back(idle); }).run();
  return stretches;
}

}  // namespace penstock
