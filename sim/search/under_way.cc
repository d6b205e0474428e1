#include "under_way.h"

#include <algorithm>

namespace penstock {

UnderWay::UnderWay(const Instance& instance, const std::vector<std::int64_t>& most_parts)
    : instance_(&instance), held_(index(instance.actors())) {
  for (std::int32_t actor = 0; actor < instance.actors(); ++actor) {
    limit_.push_back(instance.limit(actor));
    if (most_parts.empty()) continue;
    limit_.back().parts = std::min(limit_.back().parts, most_parts[index(actor)]);
  }
  std::vector<char> used(index(instance.actors()), 0);
  for (const Stage& stage : instance.pipeline().stages) {
    can_corner_ |= used[index(stage.actor)] != 0;
    used[index(stage.actor)] = 1;
  }
  unclosed_.resize(instance.pipeline().microbatches.size());
  shares_.resize(unclosed_.size() * index(instance.actors()));
  for (std::int32_t unit = 0; unit < instance.units(); ++unit) {
    ++unclosed_[index(instance.forward_of(unit).microbatch)];
    share(unit).unopened += instance.room(unit);
  }
}

UnderWay::Share& UnderWay::share(std::int32_t unit) {
  const std::int32_t actor = instance_->node(kNodesPerUnit * unit).actor;
  return shares_[index(instance_->forward_of(unit).microbatch) * held_.size() + index(actor)];
}

bool UnderWay::may_open(std::int32_t unit) const {
  const auto actor = index(instance_->node(kNodesPerUnit * unit).actor);
  Room held = held_[actor];
  held += instance_->room(unit);
  return held.fits(limit_[actor]) && (!can_corner_ || all_can_end(unit));
}

// As if the unit were open.
bool UnderWay::all_can_end(std::int32_t unit) const {
  const std::int32_t microbatch = instance_->forward_of(unit).microbatch;
  const auto here = index(instance_->node(kNodesPerUnit * unit).actor);
  std::vector<Room> free;
  free.reserve(held_.size());
  for (std::size_t actor = 0; actor < held_.size(); ++actor) {
    free.push_back(limit_[actor]);
    free.back() -= held_[actor];
  }
  free[here] -= instance_->room(unit);
  const auto can_end = [&](std::int32_t m) {
    for (std::size_t actor = 0; actor < free.size(); ++actor) {
      const Share& share = shares_[index(m) * free.size() + actor];
      Room unopened = share.unopened;
      Room held = share.held;
      if (m == microbatch && actor == here) {
        unopened -= instance_->room(unit);
        held += instance_->room(unit);
      }
      if (!unopened.fits(free[actor])) return false;
      free[actor] += held;
    }
    return true;
  };
  bool is_new = true;
  for (const std::int32_t m : begun_) {
    is_new &= m != microbatch;
    if (!can_end(m)) return false;
  }
  return !is_new || can_end(microbatch);
}

void UnderWay::open(std::int32_t unit) {
  const std::int32_t microbatch = instance_->forward_of(unit).microbatch;
  if (std::find(begun_.begin(), begun_.end(), microbatch) == begun_.end()) {
    begun_.push_back(microbatch);
  }
  held_[index(instance_->node(kNodesPerUnit * unit).actor)] += instance_->room(unit);
  share(unit).held += instance_->room(unit);
  share(unit).unopened -= instance_->room(unit);
}

void UnderWay::close(std::int32_t unit) {
  const std::int32_t microbatch = instance_->forward_of(unit).microbatch;
  held_[index(instance_->node(kNodesPerUnit * unit).actor)] -= instance_->room(unit);
  share(unit).held -= instance_->room(unit);
  if (--unclosed_[index(microbatch)] == 0) {
    begun_.erase(std::find(begun_.begin(), begun_.end(), microbatch));
  }
}

}  // namespace penstock
