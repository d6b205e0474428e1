#include "rooms.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "penstock/index.h"

namespace penstock {
namespace {

constexpr OpKind kKind = OpKind::Recompute;
constexpr std::array<std::byte, 4> kNote = {};
using Pair = std::pair<std::int32_t, std::int32_t>;  // from, to

// Calls visit(from, to, compute that starts, compute that waits) in the order of starting.
template <typename Visit>
void visit_notes(const Program& program, Visit visit) {
  std::map<std::int32_t, std::int32_t> waiting;  // by what has to start
  for (std::size_t i = 0; i < program.computes.size(); ++i) {
    const std::int32_t room = program.computes[i].room;
    if (room >= 0) waiting[room] = static_cast<std::int32_t>(i);
  }
  for (const auto& [starts, waits] : waiting) {
    visit(Pair(program.computes[index(starts)].actor, program.computes[index(waits)].actor), starts,
          waits);
  }
}

}  // namespace

std::vector<Channel> room_channels(const Program& program) {
  std::map<Pair, std::set<std::int32_t>> stages;
  visit_notes(program, [&](Pair actors, std::int32_t starts, std::int32_t) {
    stages[actors].insert(program.computes[index(starts)].op.stage);
  });
  std::vector<Channel> channels;
  const std::int32_t capacity = program.schedule.pipeline.learning.queue_capacity;
  for (const auto& [actors, next] : stages) {
    channels.push_back({.from = actors.first,
                        .to = actors.second,
                        .kind = kKind,
                        .bytes = static_cast<std::int64_t>(kNote.size()),
                        .pending = static_cast<std::int32_t>(next.size()) * (capacity + 1)});
  }
  return channels;
}

Rooms::Rooms(const Program& program, Transport& transport) : transport_(transport) {
  if (program.schedule.pipeline.learning.queue_capacity == 0) return;
  told_.resize(program.computes.size());
  awaited_.resize(program.computes.size());
  std::map<Pair, std::int32_t> count;
  visit_notes(program, [&](Pair actors, std::int32_t starts, std::int32_t waits) {
    const std::int32_t number = count[actors]++;
    told_[index(starts)] = {.peer = actors.second, .number = number};
    awaited_[index(waits)] = {.peer = actors.first, .number = number};
  });
  visit_notes(program, [&](Pair actors, std::int32_t starts, std::int32_t waits) {
    told_[index(starts)].per_step = awaited_[index(waits)].per_step = count[actors];
  });
}

void Rooms::started(std::int32_t compute, std::int64_t step) {
  if (told_.empty() || told_[index(compute)].peer < 0) return;
  const Note& note = told_[index(compute)];
  sends_.push_back(transport_.send(note.peer, kKind, note.in(step), kNote));
}

void Rooms::await(std::int32_t compute, std::int64_t step) {
  const Note& note = awaited_[index(compute)];
  const Ticket ticket =
      transport_.receive(note.peer, kKind, note.in(step), static_cast<std::int64_t>(kNote.size()));
  transport_.wait(ticket);
  transport_.release(ticket);
}

void Rooms::finish() {
  for (const Ticket ticket : sends_) transport_.wait(ticket);
  sends_.clear();
}

}  // namespace penstock
