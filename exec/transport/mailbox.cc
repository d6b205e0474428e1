#include "transport/mailbox.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "penstock/index.h"
#include "transport/cache_line.h"

namespace penstock {

std::size_t Mailbox::bytes(std::int32_t slots, std::int64_t slot_bytes) {
  const auto count = index(slots);
  return whole_lines(sizeof(Counters)) + 2 * whole_lines(count * sizeof(std::int32_t)) +
         count * whole_lines(static_cast<std::size_t>(slot_bytes));
}

Mailbox::Mailbox(void* memory, std::int32_t slots, std::int64_t slot_bytes)
    : slots_(slots),
      slot_bytes_(static_cast<std::int64_t>(whole_lines(static_cast<std::size_t>(slot_bytes)))) {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  auto* at = static_cast<std::byte*>(memory);
  const std::size_t ring = whole_lines(index(slots) * sizeof(std::int32_t));
  counters_ = reinterpret_cast<Counters*>(at);
  sent_slot_ = reinterpret_cast<std::int32_t*>(at += whole_lines(sizeof(Counters)));
  freed_slot_ = reinterpret_cast<std::int32_t*>(at += ring);
  data_ = at + ring;
  here_.reserve(index(slots));
}

void Mailbox::reset() {
  new (counters_) Counters{};
  for (std::int32_t slot = 0; slot < slots_; ++slot) freed_slot_[slot] = slot;
  // Touches every page, so that the first message does not pay for it.
  std::memset(data_, 0, static_cast<std::size_t>(slots_ * slot_bytes_));
  counters_->freed.store(0, std::memory_order_release);
}

void Mailbox::touch() {
  constexpr std::int64_t kPage = 4096;
  for (std::int64_t at = 0; at < slots_ * slot_bytes_; at += kPage) data_[at] = std::byte{0};
}

bool Mailbox::put(std::span<const std::byte> message) {
  assert(static_cast<std::int64_t>(message.size()) <= slot_bytes_ && "a message fits a slot");
  // All slots were free at first, and `freed` have come back since.
  if (taken_ == counters_->freed.load(std::memory_order_acquire) + slots_) return false;
  const std::int32_t slot = freed_slot_[taken_++ % slots_];
  std::memcpy(data_ + slot * slot_bytes_, message.data(), message.size());
  sent_slot_[put_ % slots_] = slot;
  counters_->sent.store(++put_, std::memory_order_release);
  return true;
}

std::optional<std::int32_t> Mailbox::find(std::int64_t number) {
  // In order: the sender reuses an entry only after a message at or behind it came back, so not
  // before it was seen here.
  const std::int64_t sent = counters_->sent.load(std::memory_order_acquire);
  for (; seen_ < sent; ++seen_) here_.emplace_back(seen_, sent_slot_[seen_ % slots_]);
  for (auto& entry : here_) {
    if (entry.first != number) continue;
    const std::int32_t slot = entry.second;
    entry = here_.back();
    here_.pop_back();
    return slot;
  }
  return std::nullopt;
}

std::span<const std::byte> Mailbox::slot(std::int32_t slot) const {
  return {data_ + slot * slot_bytes_, static_cast<std::size_t>(slot_bytes_)};
}

void Mailbox::give_back(std::int32_t slot) {
  freed_slot_[given_ % slots_] = slot;
  counters_->freed.store(++given_, std::memory_order_release);
}

}  // namespace penstock
