#include "transport/doorbell.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace penstock {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel reads the counter as a plain word");

void Doorbell::ring() {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &count_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::sleep(std::uint32_t count, std::int64_t longest_ns) {
  const timespec longest{.tv_sec = longest_ns / 1'000'000'000,
                         .tv_nsec = longest_ns % 1'000'000'000};
  // A ring between the owner's look and here changes the count, and the kernel compares it.
  asleep_.store(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &count_, FUTEX_WAIT, count, &longest, nullptr, 0);
  asleep_.store(0, std::memory_order_seq_cst);
}

}  // namespace penstock
