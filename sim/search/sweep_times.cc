#include "sweep_times.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

}  // namespace

SweepTimes::SweepTimes(const Instance& instance) : instance_(&instance) {
  no_message_.reserve(index(instance.nodes()));
  for (std::int32_t node = 0; node < instance.nodes(); ++node) {
    no_message_.push_back(instance.node(node).input == kNone ? 0 : kNever);
  }
  place_.resize(index(instance.nodes()));
  lane_.resize(index(instance.actors()));
  next_.resize(index(instance.actors()));
  waits_for_.resize(index(instance.actors()));
  channel_.resize(index(instance.channels()));
  for (Lanes* lanes : {&start_, &duration_, &arrival_, &tail_, &message_tail_}) {
    lanes->resize(index(instance.actors()));
  }
}

void SweepTimes::clear(const Order& order) {
  message_ = no_message_;
  makespan_ = 0;
  sequence_.clear();
  ready_.clear();
  std::fill(lane_.begin(), lane_.end(), 0);
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(waits_for_.begin(), waits_for_.end(), kNone);
  std::fill(channel_.begin(), channel_.end(), 0);
  for (std::size_t actor = 0; actor < order.items.size(); ++actor) {
    for (Lanes* lanes : {&start_, &duration_, &arrival_}) {
      (*lanes)[actor].resize(order.items[actor].size());
    }
  }
}

bool SweepTimes::sweep(const Order& order) {
  clear(order);
  std::size_t items = 0;
  for (std::int32_t actor = instance_->actors() - 1; actor >= 0; --actor) {
    ready_.push_back(actor);
    items += order.items[index(actor)].size();
  }
  while (!ready_.empty()) {
    const std::int32_t actor = ready_.back();
    ready_.pop_back();
    while (advance(order, actor)) {
    }
  }
  return sequence_.size() == items;
}

// Runs the actor's next item if its messages are known to come.
bool SweepTimes::advance(const Order& order, std::int32_t actor) {
  const std::vector<Item>& items = order.items[index(actor)];
  const std::int32_t position = next_[index(actor)];
  if (index(position) == items.size()) return false;
  const Item& item = items[index(position)];
  Nanoseconds arrival = message_[index(item.first)];
  if (item.is_pair()) arrival = std::max(arrival, message_[index(item.second)]);
  if (arrival == kNever) {
    const bool first = message_[index(item.first)] == kNever;
    waits_for_[index(actor)] = first ? item.first : item.second;
    return false;
  }
  Nanoseconds& lane = lane_[index(actor)];
  const Nanoseconds start = std::max(lane, arrival);
  const Nanoseconds duration = duration_of(*instance_, order, item);
  start_[index(actor)][index(position)] = start;
  duration_[index(actor)][index(position)] = duration;
  arrival_[index(actor)][index(position)] = arrival;
  lane = start + duration;
  makespan_ = std::max(makespan_, lane);
  sequence_.push_back({actor, position});
  for (const std::int32_t node : {item.first, item.second}) {
    if (node == kNone) continue;
    place_[index(node)] = {actor, position};
    publish(node, lane);
  }
  ++next_[index(actor)];
  return true;
}

void SweepTimes::publish(std::int32_t node, Nanoseconds end) {
  const Node& giver = instance_->node(node);
  if (giver.consumer == kNone) return;
  Nanoseconds start = end;
  if (instance_->limits_bandwidth()) {
    Nanoseconds& free_at = channel_[index(giver.channel)];
    start = std::max(end, free_at);
    free_at = start + giver.occupancy;
  }
  message_[index(giver.consumer)] = start + giver.occupancy + giver.latency;
  const std::int32_t receiver = instance_->node(giver.consumer).actor;
  if (waits_for_[index(receiver)] != giver.consumer) return;
  waits_for_[index(receiver)] = kNone;
  ready_.push_back(receiver);
}

void SweepTimes::sweep_back(const Order& order) {
  for (std::size_t actor = 0; actor < order.items.size(); ++actor) {
    tail_[actor].resize(order.items[actor].size());
    message_tail_[actor].resize(order.items[actor].size());
  }
  for (auto place = sequence_.rbegin(); place != sequence_.rend(); ++place) {
    const std::vector<Item>& items = order.items[index(place->actor)];
    const Item& item = items[index(place->position)];
    Nanoseconds over_messages = 0;
    for (const std::int32_t node : {item.first, item.second}) {
      if (node == kNone) continue;
      const Node& giver = instance_->node(node);
      if (giver.consumer == kNone) continue;
      over_messages = std::max(
          over_messages, giver.occupancy + giver.latency + tail(place_[index(giver.consumer)]));
    }
    const std::size_t behind = index(place->position) + 1;
    const Nanoseconds lane = behind < items.size() ? tail_[index(place->actor)][behind] : 0;
    message_tail_[index(place->actor)][behind - 1] = over_messages;
    tail_[index(place->actor)][behind - 1] = std::max(lane, over_messages) + duration(*place);
  }
}

}  // namespace penstock
