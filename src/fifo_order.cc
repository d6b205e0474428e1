#include "fifo_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "penstock/index.h"

namespace penstock {
namespace {

using Key = std::tuple<std::int32_t, std::int32_t, OpKind>;

class Queues {
 public:
  Queues(const Program& program, TransportKind kind)
      : program_(program), kind_(kind), queue_of_(program.messages.size()) {
    std::map<Key, std::int32_t> numbers;
    for (const Message& message : program.messages) numbers.try_emplace(key(message), 0);
    for (auto& [key, number] : numbers) {
      number = static_cast<std::int32_t>(queues_.size());
      const auto& [from, to, tensors] = key;
      queues_.push_back({.from = from, .to = to, .kind = tensors, .position = kInOrder});
    }
    for (std::size_t i = 0; i < queue_of_.size(); ++i) {
      queue_of_[i] = numbers.at(key(program.messages[i]));
    }
    for (std::vector<std::int32_t>& positions : position_) positions.resize(queue_of_.size(), 0);
  }

  std::vector<OutOfOrder> out_of_order() && {
    number_transfers();
    find_first();
    name_first();
    std::erase_if(queues_, [](const OutOfOrder& queue) { return queue.position == kInOrder; });
    return std::move(queues_);
  }

 private:
  static constexpr std::int32_t kInOrder = std::numeric_limits<std::int32_t>::max();

  Key key(const Message& message) const {
    if (kind_ == TransportKind::PairFifo) {
      return {std::min(message.from, message.to), std::max(message.from, message.to),
              OpKind::Forward};
    }
    const bool by_kind = kind_ == TransportKind::ChannelFifo;
    return {message.from, message.to, by_kind ? message.kind : OpKind::Forward};
  }

  // position_[end][message]: its place in its queue, as the actor at that end has it.
  void number_transfers() {
    std::array<std::vector<std::int32_t>, 2> count;
    for (std::vector<std::int32_t>& counts : count) counts.resize(queues_.size(), 0);
    for (std::size_t actor = 0; actor < program_.actions.size(); ++actor) {
      for (const Action& action : program_.actions[actor]) {
        if (!is_transfer(action.kind)) continue;
        const std::size_t queue = index(queue_of_[index(action.index)]);
        const std::size_t end = index(queues_[queue].from) == actor ? 0 : 1;
        position_[end][index(action.index)] = count[end][queue]++;
      }
    }
  }

  // Before the first difference both ends agree, so no misplaced transfer has a lower position.
  void find_first() {
    for (std::size_t i = 0; i < queue_of_.size(); ++i) {
      if (position_[0][i] == position_[1][i]) continue;
      std::int32_t& first = queues_[index(queue_of_[i])].position;
      first = std::min({first, position_[0][i], position_[1][i]});
    }
  }

  void name_first() {
    for (std::size_t i = 0; i < queue_of_.size(); ++i) {
      OutOfOrder& queue = queues_[index(queue_of_[i])];
      if (position_[0][i] == queue.position) queue.at_from = static_cast<std::int32_t>(i);
      if (position_[1][i] == queue.position) queue.at_to = static_cast<std::int32_t>(i);
    }
  }

  const Program& program_;
  const TransportKind kind_;
  std::vector<std::int32_t> queue_of_;  // by message
  std::vector<OutOfOrder> queues_;
  std::array<std::vector<std::int32_t>, 2> position_;  // by end (from, to) and message
};

}  // namespace

std::vector<OutOfOrder> queues_out_of_order(const Program& program, TransportKind kind) {
  return Queues(program, kind).out_of_order();
}

}  // namespace penstock
