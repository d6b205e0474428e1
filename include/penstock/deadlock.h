// File: deadlock.h. Would the actors of a program wait for each other for ever, or take one tensor
// for another, over a transport that is less patient than ours?
//
// Ours matches messages by number and sends without waiting, which no order can upset. Other
// transports ask for more: the five below are those of MPI and NCCL programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/program.h"

namespace penstock {

enum class TransportKind : std::uint8_t {
  // A transfer takes place when both its actors are at it, and each waits for it before its next
  // action (MPI_Ssend and MPI_Recv).
  Rendezvous,
  // The same, but a run of neighbouring transfers in an actor's list starts together and is waited
  // for as one (ncclGroupStart and End, torch's batch_isend_irecv).
  Grouped,
  // Between two actors one queue for both directions: the k-th transfer with each other on one side
  // must be the k-th on the other (one NCCL communicator per pair).
  PairFifo,
  // One queue per direction: the k-th send must meet its own receive as the k-th there. Activations
  // and gradients share it (no tags).
  EdgeFifo,
  // One queue per direction and kind of tensor.
  ChannelFifo,
};

struct TransportRow {
  std::string_view name;  // "rendezvous", "grouped", "pair_fifo", "edge_fifo", "channel_fifo"
  TransportKind kind;
};

// Every kind, in the order above. Static; thread-safe.
std::span<const TransportRow> transport_kinds();

// An actor that waits for ever.
struct StuckActor {
  std::int32_t actor = 0;
  // Index into Program::actions[actor]: a transfer that never takes place, or an AwaitRoom.
  std::int32_t action = 0;
  std::int32_t peer = 0;  // the actor at its other end, or the one that would make room
  bool operator==(const StuckActor&) const = default;
};

// A queue whose two ends disagree: where they do so first.
struct OutOfOrder {
  std::int32_t from = 0;  // actors; of a pair the lower one
  std::int32_t to = 0;
  OpKind kind = OpKind::Forward;  // ChannelFifo: of its tensors (Forward or Backward)
  std::int32_t position = 0;      // in the queue, from 0
  std::int32_t at_from = 0;       // index into Program::messages: what `from` has there
  std::int32_t at_to = 0;         // what `to` has there
  bool operator==(const OutOfOrder&) const = default;
};

struct TransportVerdict {
  // Rendezvous, Grouped: actors of which each waits for the next one, and the last for the first.
  std::vector<StuckActor> ring = {};
  // The FIFO kinds: every queue that is out of order, by (from, to, kind).
  std::vector<OutOfOrder> queues = {};

  bool fine() const { return ring.empty() && queues.empty(); }
};

// Time linear in the actions. Actions other than transfers and AwaitRoom take part in nothing:
// lower() puts the collectives last, in one order. REQUIRES: each message is sent once, by its
// `from`, and received once, by its `to` before its consumer. Thread-safe.
//   Program program = lower(schedule, {.placement = MessagePlacement::Naive});
//   if (!check_transport(program, TransportKind::Grouped).fine()) { .. }
TransportVerdict check_transport(const Program& program, TransportKind kind);

// The verdict in sentences, one per actor of the ring, two per queue; none when it is fine:
//   actor 0 waits at the send of the activation of 0F1 to actor 1
//   actor 1 has the receive of the gradient of 3I0 from actor 0 in place 2
std::vector<std::string> explain(const Program& program, const TransportVerdict& verdict);

}  // namespace penstock
