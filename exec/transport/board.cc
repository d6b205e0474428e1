#include "transport/board.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "penstock/index.h"
#include "transport/cache_line.h"

namespace penstock {

std::size_t Board::bytes(std::int32_t actors) {
  return whole_lines(sizeof(Header)) + sizeof(Entry) * static_cast<std::size_t>(actors);
}

Board::Board(void* memory, std::int32_t actors)
    : actors_(actors),
      header_(static_cast<Header*>(memory)),
      entries_(
          reinterpret_cast<Entry*>(static_cast<std::byte*>(memory) + whole_lines(sizeof(Header)))) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static_assert(std::atomic<std::int32_t>::is_always_lock_free);
  assert(reinterpret_cast<std::uintptr_t>(memory) % kCacheLine == 0 &&
         "aligned as the header asks");
}

void Board::at(std::int32_t actor, std::int32_t action) {
  Entry& entry = entries_[actor];
  entry.action.store(action + 1, std::memory_order_relaxed);
  entry.moves.store(entry.moves.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Board::waiting(std::int32_t actor, bool waits) {
  Entry& entry = entries_[actor];
  entry.waits.store(waits ? 1 : 0, std::memory_order_relaxed);
  entry.moves.store(entry.moves.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Board::set_process(std::int32_t actor, std::int32_t pid) {
  entries_[actor].process.store(pid, std::memory_order_relaxed);
}

std::int32_t Board::action(std::int32_t actor) const {
  return entries_[actor].action.load(std::memory_order_relaxed) - 1;
}

bool Board::is_waiting(std::int32_t actor) const {
  return entries_[actor].waits.load(std::memory_order_relaxed) != 0;
}

std::int32_t Board::process(std::int32_t actor) const {
  return entries_[actor].process.load(std::memory_order_relaxed);
}

bool Board::all_waiting() const {
  for (std::int32_t a = 0; a < actors_; ++a) {
    if (!is_waiting(a)) return false;
  }
  return true;
}

std::uint64_t Board::progress() const {
  std::uint64_t sum = 0;
  for (std::int32_t a = 0; a < actors_; ++a) {
    sum += entries_[a].moves.load(std::memory_order_relaxed);
  }
  return sum;
}

void Board::fail(const Error& error) {
  std::uint32_t running = 0;
  if (!header_->state.compare_exchange_strong(running, 1, std::memory_order_acq_rel)) return;
  const std::string_view text = error.what();
  const std::size_t length = std::min(text.size(), kText - 1);
  std::copy_n(text.data(), length, header_->text.data());
  header_->text[length] = '\0';
  header_->while_running.store(dynamic_cast<const RunError*>(&error) != nullptr,
                               std::memory_order_relaxed);
  header_->state.store(kReady, std::memory_order_release);
}

void Board::throw_failure() const {
  if (header_->while_running.load(std::memory_order_relaxed)) {
    throw RunError("", header_->text.data());
  }
  throw Error("", header_->text.data());
}

bool Board::claim_report() {
  return header_->reported.exchange(1, std::memory_order_relaxed) == 0;
}

std::string_view action_name(const Board& board, const ActionNames& names, std::int32_t actor) {
  const std::int32_t action = board.action(actor);
  const bool known =
      action >= 0 && index(actor) < names.size() && index(action) < names[index(actor)].size();
  return known ? std::string_view(names[index(actor)][index(action)]) : "start-up";
}

std::string describe(const Board& board, const ActionNames& names) {
  std::string text;
  for (std::int32_t a = 0; a < board.actors(); ++a) {
    text += fmt::format("\n  actor {} {} {}", a, board.is_waiting(a) ? "waits at" : "at",
                        action_name(board, names, a));
  }
  return text;
}

}  // namespace penstock
