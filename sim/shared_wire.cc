#include "shared_wire.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "penstock/fair_rates.h"
#include "penstock/index.h"

namespace penstock {

SharedWire::SharedWire(const Program& program, const CostTable& costs) {
  for (const Message& message : program.messages) {
    const auto number = static_cast<std::int32_t>(channels_.size());
    if (!channel_by_pair_.try_emplace({message.from, message.to}, number).second) continue;
    channels_.emplace_back();
  }
  for (const SharedLink& link : costs.links) {
    const auto number = static_cast<std::int32_t>(capacity_.size());
    capacity_.push_back(link.bytes_per_s * 1e-9);
    for (const auto& [from, to] : link.channels) {
      const auto used = channel_by_pair_.find({from, to});
      if (used == channel_by_pair_.end()) continue;
      channels_[index(used->second)].links.push_back(number);
    }
  }
}

bool SharedWire::reach(Engine& engine, std::int32_t actor, std::int32_t cursor, Nanoseconds now) {
  const Action& action = engine.actions(actor)[index(cursor)];
  if (action.kind == ActionKind::Receive) return true;
  const std::int32_t number = channel_by_pair_.at({actor, engine.receiver(action.index)});
  Channel& channel = channels_[index(number)];
  channel.queue.push_back({.message = action.index, .ready = now});
  if (channel.queue.size() > 1) return true;
  start_first(engine, channel, now);
  running_.insert(std::upper_bound(running_.begin(), running_.end(), number), number);
  if (next_ != now) plan(engine, now);
  return true;
}

void SharedWire::start_first(const Engine& engine, Channel& channel, Nanoseconds now) {
  const MessagePrice& price = engine.price(channel.queue.front().message);
  channel.start = channel.at = now;
  channel.left = static_cast<double>(price.bytes);
  channel.limit = price.occupancy > 0 ? channel.left / static_cast<double>(price.occupancy)
                                      : std::numeric_limits<double>::infinity();
  channel.rate = 0;
  channel.end = kNever;
}

// All that starts and ends at one time is shared out once, behind it.
void SharedWire::handle(Engine& engine, std::int32_t plan_number, Nanoseconds now) {
  if (plan_number != plans_) return;  // others have started since it was made
  next_ = kNever;
  std::erase_if(running_, [&](std::int32_t number) {
    Channel& channel = channels_[index(number)];
    if (channel.end > now) return false;
    arrive(engine, channel, now);
    return channel.queue.empty();
  });
  share(now);
  if (!running_.empty()) plan(engine, first_end());
}

void SharedWire::arrive(Engine& engine, Channel& channel, Nanoseconds now) {
  const Sent sent = channel.queue.front();
  channel.queue.pop_front();
  engine.deliver(sent.message, sent.ready, channel.start, now + engine.price(sent.message).latency);
  if (!channel.queue.empty()) start_first(engine, channel, now);
}

void SharedWire::share(Nanoseconds now) {
  std::vector<FlowOnLinks> flows;
  for (const std::int32_t number : running_) {
    const Channel& channel = channels_[index(number)];
    flows.push_back({.links = channel.links, .limit = channel.limit});
  }
  const std::vector<double> rates = fair_rates(capacity_, flows);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    Channel& channel = channels_[index(running_[i])];
    if (channel.rate == rates[i]) continue;
    channel.left -= channel.rate * static_cast<double>(now - channel.at);
    channel.at = now;
    channel.rate = rates[i];
    channel.end = now + std::llround(std::max(0.0, channel.left) / channel.rate);
  }
}

Nanoseconds SharedWire::first_end() const {
  Nanoseconds first = kNever;
  for (const std::int32_t number : running_) {
    first = std::min(first, channels_[index(number)].end);
  }
  return first;
}

void SharedWire::plan(Engine& engine, Nanoseconds at) {
  next_ = at;
  engine.events().push_wire(at, ++plans_);
}

Wire::Waiting SharedWire::waits_for(const Engine& engine, std::int32_t, std::int32_t,
                                    std::int32_t message) const {
  return {.message = message, .actor = engine.message(message).from};
}

}  // namespace penstock
