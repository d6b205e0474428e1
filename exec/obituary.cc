#include "obituary.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <signal.h>
#include <string_view>
#include <unistd.h>

namespace penstock {
namespace {

// The command line's exit codes.
constexpr int kRunFailed = 3;
constexpr int kInterrupted = 130;

// A signal handler can only reach what is global.
std::atomic<Board*> watched_board{nullptr};
std::atomic<const ActionNames*> watched_names{nullptr};
struct sigaction previous_action;

// No allocation, no locks: safe in a handler.
class Text {
 public:
  Text& operator<<(std::string_view text) {
    const std::size_t length = std::min(text.size(), text_.size() - used_);
    std::memcpy(text_.data() + used_, text.data(), length);
    used_ += length;
    return *this;
  }
  Text& operator<<(std::int32_t value) {
    std::array<char, 12> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  void print() const {
    std::string_view left(text_.data(), used_);
    while (!left.empty()) {
      const ssize_t written = write(STDERR_FILENO, left.data(), left.size());
      if (written <= 0) return;
      left.remove_prefix(static_cast<std::size_t>(written));
    }
  }

 private:
  std::array<char, 16384> text_;
  std::size_t used_ = 0;
};

bool is_dead(std::int32_t pid) {
  return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

extern "C" void on_terminate(int) {
  Board* board = watched_board.load();
  const ActionNames* names = watched_names.load();
  if (board == nullptr || names == nullptr) _exit(kInterrupted);
  std::int32_t dead = -1;
  for (std::int32_t a = 0; a < board->actors() && dead < 0; ++a) {
    if (is_dead(board->process(a))) dead = a;
  }
  if (dead >= 0 && board->claim_report()) {
    Text text;
    text << "actor " << dead << " died; the actors were";
    for (std::int32_t a = 0; a < board->actors(); ++a) {
      text << "\n  actor " << a << (board->is_waiting(a) ? " waits at " : " at ")
           << action_name(*board, *names, a);
    }
    text << "\n";
    text.print();
  }
  _exit(dead >= 0 ? kRunFailed : kInterrupted);
}

}  // namespace

Obituary::Obituary(Board& board, const ActionNames& names) {
  watched_names.store(&names);
  watched_board.store(&board);
  struct sigaction action {};
  action.sa_handler = on_terminate;
  sigaction(SIGTERM, &action, &previous_action);
}

Obituary::~Obituary() {
  sigaction(SIGTERM, &previous_action, nullptr);
  watched_board.store(nullptr);
  watched_names.store(nullptr);
}

}  // namespace penstock
