#include "penstock/deadlock.h"

#include <fmt/format.h>

#include "fifo_order.h"
#include "rendezvous.h"

namespace penstock {
namespace {

constexpr TransportRow kKinds[] = {
    {"rendezvous", TransportKind::Rendezvous},    {"grouped", TransportKind::Grouped},
    {"pair_fifo", TransportKind::PairFifo},       {"edge_fifo", TransportKind::EdgeFifo},
    {"channel_fifo", TransportKind::ChannelFifo},
};

std::string has(const Program& program, std::int32_t actor, std::int32_t message,
                std::int32_t place) {
  const bool sends = program.messages[static_cast<std::size_t>(message)].from == actor;
  const Action action{sends ? ActionKind::Send : ActionKind::Receive, message};
  return fmt::format("actor {} has the {} in place {}", actor, to_string(program, action), place);
}

}  // namespace

std::span<const TransportRow> transport_kinds() {
  return kKinds;
}

TransportVerdict check_transport(const Program& program, TransportKind kind) {
  switch (kind) {
    case TransportKind::Rendezvous:
    case TransportKind::Grouped:
      return {.ring = rendezvous_ring(program, kind)};
    case TransportKind::PairFifo:
    case TransportKind::EdgeFifo:
    case TransportKind::ChannelFifo:
      break;
  }
  return {.queues = queues_out_of_order(program, kind)};
}

std::vector<std::string> explain(const Program& program, const TransportVerdict& verdict) {
  std::vector<std::string> sentences;
  for (const StuckActor& stuck : verdict.ring) {
    const Action& action =
        program
            .actions[static_cast<std::size_t>(stuck.actor)][static_cast<std::size_t>(stuck.action)];
    sentences.push_back(fmt::format("actor {} waits {} {}", stuck.actor,
                                    action.kind == ActionKind::AwaitRoom ? "for" : "at the",
                                    to_string(program, action)));
  }
  for (const OutOfOrder& queue : verdict.queues) {
    sentences.push_back(has(program, queue.from, queue.at_from, queue.position));
    sentences.push_back(has(program, queue.to, queue.at_to, queue.position));
  }
  return sentences;
}

}  // namespace penstock
