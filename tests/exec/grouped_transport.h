// File: grouped_transport.h. A transport that waits for a run of neighbouring transfers as one, as
// NCCL does between ncclGroupStart and ncclGroupEnd.
#pragma once

#include <vector>

#include "penstock/program.h"
#include "transport/transport.h"

namespace penstock {

// All transfers of a run start; the actor's next other action begins when all have taken place. A
// send takes place when the receiver has posted its receive and the bytes are there.
class GroupedTransport final : public Transport {
 public:
  GroupedTransport(Transport& inner, const Program& program)
      : inner_(inner), actions_(program.actions[static_cast<std::size_t>(inner.actor())]) {}

  std::int32_t actor() const override { return inner_.actor(); }
  std::int32_t actors() const override { return inner_.actors(); }
  bool crowded() const override { return inner_.crowded(); }
  void open(std::span<const Channel> channels, const ActionNames& names) override {
    inner_.open(channels, names);
  }

  Ticket send(std::int32_t to, OpKind kind, std::int64_t number,
              std::span<const std::byte> bytes) override {
    const Ticket ticket = inner_.send(to, kind, number, bytes);
    if (!in_group_) return ticket;
    group_.push_back({at_, ticket});
    return kWaitedFor;
  }
  Ticket receive(std::int32_t from, OpKind kind, std::int64_t number, std::int64_t bytes) override {
    const Ticket ticket = inner_.receive(from, kind, number, bytes);
    if (in_group_) group_.push_back({at_, ticket});
    return ticket;
  }
  std::span<const std::byte> data(Ticket receive) const override { return inner_.data(receive); }
  void release(Ticket receive) override { inner_.release(receive); }
  bool test(Ticket ticket) override { return is_waited_for(ticket) || inner_.test(ticket); }
  void wait(Ticket ticket) override {
    end_group();  // a program without a step end may end in one
    if (!is_waited_for(ticket)) inner_.wait(ticket);
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    inner_.all_gather(mine, all);
  }
  void barrier() override { inner_.barrier(); }

  void at(std::int32_t action) override {
    at_ = action;
    in_group_ = is_transfer(actions_[static_cast<std::size_t>(action)].kind);
    if (!in_group_) end_group();
    inner_.at(action);
  }
  void fail(const Error& error) override { inner_.fail(error); }

 private:
  struct Started {
    std::int32_t action;
    Ticket ticket;
  };
  // Of a send: its group ends before anybody asks for it.
  static constexpr Ticket kWaitedFor{-2};
  static bool is_waited_for(Ticket ticket) { return ticket.slot == kWaitedFor.slot; }

  void end_group() {
    for (const Started& transfer : group_) {
      inner_.at(transfer.action);
      inner_.wait(transfer.ticket);
    }
    group_.clear();
  }

  Transport& inner_;
  const std::vector<Action>& actions_;
  std::vector<Started> group_;
  std::int32_t at_ = 0;
  bool in_group_ = false;
};

}  // namespace penstock
