#include "windows.h"

#include <algorithm>
#include <utility>

#include "ancestors.h"
#include "penstock/index.h"

namespace penstock {
namespace {

class Narrowing {
 public:
  Narrowing(Relaxed relaxed, Nanoseconds makespan) : makespan_(makespan) {
    windows_.relaxed = std::move(relaxed);
    std::int32_t last = -1;
    for (const std::int32_t actor : windows_.relaxed.actor) last = std::max(last, actor);
    nodes_on_.resize(index(last + 1));
    for (const std::int32_t node : windows_.relaxed.sequence) {
      nodes_on_[index(windows_.relaxed.actor[index(node)])].push_back(node);
    }
  }

  Windows run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      windows_.possible = windows_.possible && measure();
      if (!windows_.possible || !settle()) break;
      windows_.possible = put_in_sequence(windows_.relaxed);
    }
    return std::move(windows_);
  }

 private:
  // False when a window is too short.
  bool measure() {
    windows_.heads = heads_of(windows_.relaxed);
    windows_.tails = heads_of(reversed(windows_.relaxed));
    if (preemptive_bound(windows_.relaxed, windows_.heads, windows_.tails) > makespan_)
      return false;
    return std::all_of(windows_.relaxed.sequence.begin(), windows_.relaxed.sequence.end(),
                       [&](std::int32_t node) { return head(node) <= last_start(node); });
  }

  Nanoseconds head(std::int32_t node) const { return windows_.heads[index(node)]; }
  Nanoseconds duration(std::int32_t node) const { return windows_.relaxed.duration[index(node)]; }
  Nanoseconds last_start(std::int32_t node) const {
    return makespan_ - windows_.tails[index(node)] - duration(node);
  }
  bool fits_before(std::int32_t first, std::int32_t second) const {
    return head(first) + duration(first) <= last_start(second);
  }

  // True when something was settled; then the sequence is out of date.
  bool settle() {
    Ancestors ancestors(windows_.relaxed.duration.size());
    for (const std::int32_t node : windows_.relaxed.sequence) {
      for (const Precedence& precedence : windows_.relaxed.inputs[index(node)]) {
        ancestors.add(node, precedence.input);
      }
    }
    windows_.open.clear();
    bool settled = false;
    for (const std::vector<std::int32_t>& nodes : nodes_on_) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (std::size_t j = i + 1; j < nodes.size(); ++j) {
          const std::int32_t a = nodes[i];
          const std::int32_t b = nodes[j];
          if (ancestors.has(a, b) || ancestors.has(b, a)) continue;
          settled |= settle(a, b);
        }
      }
    }
    return settled;
  }

  bool settle(std::int32_t a, std::int32_t b) {
    const bool a_first = fits_before(a, b);
    const bool b_first = fits_before(b, a);
    if (a_first && b_first) {
      windows_.open.emplace_back(a, b);
      return false;
    }
    if (!a_first) windows_.relaxed.inputs[index(a)].push_back({b, 0});
    if (!b_first) windows_.relaxed.inputs[index(b)].push_back({a, 0});
    return true;
  }

  const Nanoseconds makespan_;
  Windows windows_;
  std::vector<std::vector<std::int32_t>> nodes_on_;  // by actor
};

}  // namespace

Windows windows(Relaxed relaxed, Nanoseconds makespan, int rounds) {
  return Narrowing(std::move(relaxed), makespan).run(rounds);
}

Windows shaved(Windows windows, Nanoseconds makespan, int tries) {
  constexpr int kRounds = 5;
  const auto with = [&](std::int32_t first, std::int32_t second) {
    Relaxed relaxed = windows.relaxed;
    relaxed.inputs[index(second)].push_back({first, 0});
    if (!put_in_sequence(relaxed)) return Windows{.possible = false};
    return penstock::windows(std::move(relaxed), makespan, kRounds);
  };
  bool settled = true;
  while (settled && windows.possible) {
    settled = false;
    const std::vector<std::pair<std::int32_t, std::int32_t>> open = windows.open;
    for (const auto& [a, b] : open) {
      if (tries-- <= 0) return windows;
      if (!with(a, b).possible) {
        windows = with(b, a);
      } else if (!with(b, a).possible) {
        windows = with(a, b);
      } else {
        continue;
      }
      settled = true;
      if (!windows.possible) return windows;
    }
  }
  return windows;
}

Nanoseconds window_bound(const Relaxed& relaxed, Nanoseconds bound, Nanoseconds reached) {
  constexpr int kRounds = 30;
  while (bound < reached) {
    const Nanoseconds middle = bound + (reached - bound) / 2;
    if (windows(relaxed, middle, kRounds).possible) {
      reached = middle;
    } else {
      bound = middle + 1;
    }
  }
  return bound;
}

}  // namespace penstock
