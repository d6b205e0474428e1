#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "penstock/program.h"

namespace penstock {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

std::size_t index(const Action& action) {
  return index(action.index);
}

using Key = std::tuple<std::int32_t, std::int32_t, OpKind>;

// The channels in use, by (from, to, kind), and each message's.
struct MessageChannels {
  std::vector<ChannelNeed> needs;
  std::vector<std::int32_t> of_message;
};

MessageChannels message_channels(const Program& program) {
  std::map<Key, std::int32_t> numbers;
  for (const Message& message : program.messages) {
    numbers.try_emplace({message.from, message.to, message.kind}, 0);
  }
  MessageChannels channels;
  for (auto& [key, number] : numbers) {
    number = static_cast<std::int32_t>(channels.needs.size());
    channels.needs.push_back(
        {.from = std::get<0>(key), .to = std::get<1>(key), .kind = std::get<2>(key)});
  }
  channels.of_message.reserve(program.messages.size());
  for (const Message& message : program.messages) {
    const std::int32_t channel = numbers.at({message.from, message.to, message.kind});
    channels.of_message.push_back(channel);
    ++channels.needs[index(channel)].messages;
  }
  return channels;
}

// Calls posted(message) and consumed(message) along one actor's list.
template <typename Posted, typename Consumed>
void walk_receives(const Program& program, std::size_t actor, Posted posted, Consumed consumed) {
  for (const Action& action : program.actions[actor]) {
    if (action.kind == ActionKind::Receive) {
      posted(action.index);
    } else if (action.kind == ActionKind::Compute) {
      const std::int32_t awaits = program.computes[index(action)].awaits;
      if (awaits >= 0) consumed(awaits);
    }
  }
}

void count_posted(const Program& program, MessageChannels& channels) {
  std::vector<std::int32_t> open(channels.needs.size(), 0);
  for (std::size_t actor = 0; actor < program.actions.size(); ++actor) {
    walk_receives(
        program, actor,
        [&](std::int32_t message) {
          const std::size_t channel = index(channels.of_message[index(message)]);
          std::int32_t& posted = channels.needs[channel].posted;
          posted = std::max(posted, ++open[channel]);
        },
        [&](std::int32_t message) { --open[index(channels.of_message[index(message)])]; });
  }
}

// Vector clocks: what every actor must have finished when a message leaves. A message that its
// receiver must have consumed by then does not count as pending.
class PendingCount {
 public:
  PendingCount(const Program& program, MessageChannels& channels)
      : program_(program),
        channels_(channels),
        clock_(program.actions.size(), Clock(program.actions.size(), 0)),
        stamp_(program.messages.size()),
        consumed_at_(channels.needs.size()),
        sent_(channels.needs.size(), 0) {}

  void run() {
    number_consumptions();
    std::size_t message = 0;  // messages are in the order of their producers
    for (std::size_t i = 0; i < program_.computes.size();) {
      const std::size_t end = pair_end(i);
      for (; i < end; ++i) start(program_.computes[i]);
      for (; message < stamp_.size() && index(program_.messages[message].producer) < end;
           ++message) {
        send(message);
      }
    }
  }

 private:
  using Clock = std::vector<std::int32_t>;  // by actor: how many of its computes are done

  std::size_t pair_end(std::size_t i) const {
    do ++i;
    while (i < program_.computes.size() && program_.computes[i].overlaps_previous);
    return i;
  }

  // consumed_at_[channel]: after how many computes of the receiver each message is consumed.
  void number_consumptions() {
    std::vector<std::int32_t> count(program_.actions.size(), 0);
    for (const Compute& compute : program_.computes) {
      const std::int32_t done = ++count[index(compute.actor)];
      if (compute.awaits < 0) continue;
      consumed_at_[index(channels_.of_message[index(compute.awaits)])].push_back(done);
    }
  }

  void start(const Compute& compute) {
    Clock& clock = clock_[index(compute.actor)];
    if (compute.awaits >= 0) {
      Clock& stamp = stamp_[index(compute.awaits)];
      for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], stamp[i]);
      Clock().swap(stamp);
    }
    ++clock[index(compute.actor)];
  }

  void send(std::size_t number) {
    const Message& message = program_.messages[number];
    const Clock& clock = clock_[index(message.from)];
    stamp_[number] = clock;
    const std::size_t channel = index(channels_.of_message[number]);
    const std::vector<std::int32_t>& at = consumed_at_[channel];  // ascending
    const auto consumed = std::upper_bound(at.begin(), at.end(), clock[index(message.to)]);
    const auto pending = ++sent_[channel] - static_cast<std::int32_t>(consumed - at.begin());
    ChannelNeed& need = channels_.needs[channel];
    need.pending = std::max(need.pending, pending);
  }

  const Program& program_;
  MessageChannels& channels_;
  std::vector<Clock> clock_;  // by actor
  std::vector<Clock> stamp_;  // by message in flight: its sender's clock
  std::vector<std::vector<std::int32_t>> consumed_at_;
  std::vector<std::int32_t> sent_;  // by channel
};

// A bounded queue lets so many activations over a boundary be under way: those in it, and the one
// that the next stage works on.
void bound_by_queues(const Program& program, MessageChannels& channels) {
  const std::int32_t capacity = program.schedule.pipeline.learning.queue_capacity;
  if (capacity == 0) return;
  std::map<std::size_t, std::set<std::int32_t>> boundaries;  // by channel: the stages that send
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    const Message& message = program.messages[i];
    if (message.kind != OpKind::Forward) continue;
    boundaries[index(channels.of_message[i])].insert(
        program.computes[index(message.producer)].op.stage);
  }
  for (const auto& [channel, stages] : boundaries) {
    std::int32_t& pending = channels.needs[channel].pending;
    const std::int64_t bound = (std::int64_t{capacity} + 1) * static_cast<int>(stages.size());
    pending = static_cast<std::int32_t>(std::min<std::int64_t>(pending, bound));
  }
}

}  // namespace

std::vector<ChannelNeed> channel_needs(const Program& program) {
  MessageChannels channels = message_channels(program);
  count_posted(program, channels);
  PendingCount(program, channels).run();
  bound_by_queues(program, channels);
  return std::move(channels.needs);
}

std::vector<std::int32_t> peak_pending_receives(const Program& program) {
  std::vector<std::int32_t> peaks(program.actions.size(), 0);
  for (std::size_t actor = 0; actor < peaks.size(); ++actor) {
    std::int32_t open = 0;
    walk_receives(
        program, actor, [&](std::int32_t) { peaks[actor] = std::max(peaks[actor], ++open); },
        [&](std::int32_t) { --open; });
  }
  return peaks;
}

}  // namespace penstock
