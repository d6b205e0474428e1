#include "formats/kineto_steps.h"

#include <algorithm>
#include <set>

namespace penstock {
namespace {

bool runs_all_once(const KinetoStep& step, std::size_t all) {
  std::set<Op> ops;
  std::size_t count = 0;
  for (const KinetoEvent& event : step.events) {
    ops.insert(event.ops.begin(), event.ops.end());
    count += event.ops.size();
  }
  return ops.size() == all && count == all;
}

}  // namespace

std::map<std::int32_t, KinetoStep> StepMarks::by_marks() {
  std::map<std::int32_t, KinetoStep> steps;
  std::size_t next = 0;  // the first mark that starts after the event
  for (KinetoEvent& event : events_) {
    while (next < marks_.size() && marks_[next].start <= event.start) ++next;
    if (next == 0 || event.start >= marks_[next - 1].end) continue;
    steps[marks_[next - 1].number].events.push_back(std::move(event));
  }
  return steps;
}

std::map<std::int32_t, KinetoStep> StepMarks::by_repetition() {
  std::map<std::int32_t, KinetoStep> steps;
  std::set<Op> seen;
  std::int32_t number = 0;
  for (KinetoEvent& event : events_) {
    const bool again = std::any_of(event.ops.begin(), event.ops.end(),
                                   [&](const Op& op) { return seen.contains(op); });
    if (again) {
      ++number;
      seen.clear();
    }
    seen.insert(event.ops.begin(), event.ops.end());
    steps[number].events.push_back(std::move(event));
  }
  return steps;
}

std::vector<KinetoStep> StepMarks::split() && {
  std::set<Op> all;
  for (const KinetoEvent& event : events_) all.insert(event.ops.begin(), event.ops.end());
  std::vector<KinetoStep> steps;
  for (auto& [number, step] : marks_.empty() ? by_repetition() : by_marks()) {
    step.number = number;
    step.complete = !all.empty() && runs_all_once(step, all.size());
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace penstock
