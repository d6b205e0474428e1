// File: kineto_steps.h. Cuts a rank's trace into training steps.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "penstock/kineto.h"

namespace penstock {

class StepMarks {
 public:
  // A step of the profiler's, "ProfilerStep#7".
  void mark(std::int32_t number, Nanoseconds start, Nanoseconds end) {
    marks_.push_back({number, start, end});
  }
  // In order of time.
  void add(KinetoEvent event) { events_.push_back(std::move(event)); }
  bool empty() const { return events_.empty(); }

  // By the profiler's steps, without what lies outside; where there are none, a step ends where an
  // op comes again, and steps count from 0.
  std::vector<KinetoStep> split() &&;

 private:
  struct Mark {
    std::int32_t number;
    Nanoseconds start;
    Nanoseconds end;
  };

  std::map<std::int32_t, KinetoStep> by_marks();
  std::map<std::int32_t, KinetoStep> by_repetition();

  std::vector<Mark> marks_;  // in order of start
  std::vector<KinetoEvent> events_;
};

}  // namespace penstock
