// File: problem_list.h. Collects problems, and counts those that nobody would read any more.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "penstock/error.h"

namespace penstock {

class ProblemList {
 public:
  static constexpr std::size_t kMost = 100;

  // `make` gives the Problem; it is not called once the list is full, so that a thoroughly wrong
  // input costs no more than one pass.
  template <typename Make>
  void add(Make make) {
    if (++count_ <= kMost) problems_.push_back(make());
  }
  bool empty() const { return count_ == 0; }

  // The problems; the last of more than kMost says how many are left out.
  std::vector<Problem> take() {
    if (count_ > kMost) {
      problems_.back() = {problems_.back().where,
                          "and " + std::to_string(count_ - kMost + 1) + " more problems",
                          {}};
    }
    return std::move(problems_);
  }

 private:
  std::vector<Problem> problems_;
  std::size_t count_ = 0;
};

// For readers that collect in a plain list: one problem more, but no more than kMost, of which the
// last says so.
inline void add_problem(std::vector<Problem>& problems, Problem problem) {
  constexpr std::size_t kLast = ProblemList::kMost - 1;
  if (problems.size() > kLast) return;
  if (problems.size() == kLast) {
    problem.what = "there may be more problems: only the first are shown";
    problem.hint.clear();
  }
  problems.push_back(std::move(problem));
}

}  // namespace penstock
