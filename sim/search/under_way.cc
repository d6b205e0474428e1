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
  has_begun_.resize(unclosed_.size());
  unopened_.resize(index(instance.actors()));
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

bool UnderWay::has_room(std::int32_t unit) const {
  const auto actor = index(instance_->node(kNodesPerUnit * unit).actor);
  Room held = held_[actor];
  held += instance_->room(unit);
  return held.fits(limit_[actor]);
}

bool UnderWay::has_room_for(std::int32_t unit, std::int32_t other) const {
  const auto actor = index(instance_->node(kNodesPerUnit * unit).actor);
  Room held = held_[actor];
  held += instance_->room(unit);
  held += instance_->room(other);
  return held.fits(limit_[actor]);
}

bool UnderWay::may_open(std::int32_t unit) const {
  return has_room(unit) && (!can_corner_ || all_can_end(unit));
}

// As if the unit were open: one by one they end and leave their room to the next. Once what is
// left to open fits everywhere, all can end.
bool UnderWay::all_can_end(std::int32_t unit) const {
  const std::int32_t microbatch = instance_->forward_of(unit).microbatch;
  const auto here = index(instance_->node(kNodesPerUnit * unit).actor);
  free_.clear();
  for (std::size_t actor = 0; actor < held_.size(); ++actor) {
    free_.push_back(limit_[actor]);
    free_.back() -= held_[actor];
  }
  rest_ = unopened_;
  if (!has_begun(microbatch)) {
    for (std::size_t actor = 0; actor < rest_.size(); ++actor) {
      rest_[actor] += shares_[index(microbatch) * rest_.size() + actor].unopened;
    }
  }
  free_[here] -= instance_->room(unit);
  rest_[here] -= instance_->room(unit);
  const auto can_end = [&](std::int32_t m) {
    for (std::size_t actor = 0; actor < free_.size(); ++actor) {
      Share share = shares_[index(m) * free_.size() + actor];
      if (m == microbatch && actor == here) {
        share.unopened -= instance_->room(unit);
        share.held += instance_->room(unit);
      }
      if (!share.unopened.fits(free_[actor])) return false;
      free_[actor] += share.held;
      rest_[actor] -= share.unopened;
    }
    return true;
  };
  const auto rest_fits = [&] {
    return std::equal(rest_.begin(), rest_.end(), free_.begin(),
                      [](const Room& rest, const Room& free) { return rest.fits(free); });
  };
  for (const std::int32_t m : begun_) {
    if (rest_fits()) return true;
    if (!can_end(m)) return false;
  }
  return rest_fits();
}

void UnderWay::open(std::int32_t unit) {
  const std::int32_t microbatch = instance_->forward_of(unit).microbatch;
  if (!has_begun(microbatch)) {
    begun_.push_back(microbatch);
    has_begun_[index(microbatch)] = 1;
    for (std::size_t actor = 0; actor < unopened_.size(); ++actor) {
      unopened_[actor] += shares_[index(microbatch) * unopened_.size() + actor].unopened;
    }
  }
  const auto here = index(instance_->node(kNodesPerUnit * unit).actor);
  held_[here] += instance_->room(unit);
  unopened_[here] -= instance_->room(unit);
  share(unit).held += instance_->room(unit);
  share(unit).unopened -= instance_->room(unit);
}

void UnderWay::free(std::int32_t unit, const Room& room) {
  held_[index(instance_->node(kNodesPerUnit * unit).actor)] -= room;
  share(unit).held -= room;
}

void UnderWay::close(std::int32_t unit) {
  const std::int32_t microbatch = instance_->forward_of(unit).microbatch;
  if (--unclosed_[index(microbatch)] == 0) {
    begun_.erase(std::find(begun_.begin(), begun_.end(), microbatch));
  }
}

}  // namespace penstock
