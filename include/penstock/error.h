// File: error.h. How Penstock says no.
//
// Three kinds of failure, one rule each:
//   an expected "no"            -> a value, std::vector<Problem>: every problem, not the first
//   bad input, a failing call   -> throw Error{where, what, hint}; tools/main.cc prints it
//   a bug in Penstock           -> assert with the sentence that was believed
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace penstock {

// One thing that is wrong with an input. `where` is "file:/json/pointer", "file:line:column" or
// "actor 2, position 7"; `hint` says what to try and may be empty.
//
//   configs/schedules/mine.json:/order/2/7: actor 2 runs 3B1 before 3F1
//     hint: a backward needs its forward on the same stage; swap entries 6 and 7
struct Problem {
  std::string where;
  std::string what;
  std::string hint;
  bool operator==(const Problem&) const = default;
};

// "where: what\n  hint: hint" (no hint line when there is none).
std::string to_string(const Problem& problem);

// Thrown when the input is at fault; holds at least one problem. Exit code 1.
class Error : public std::runtime_error {
 public:
  explicit Error(Problem problem);
  // REQUIRES: !problems.empty().
  explicit Error(std::vector<Problem> problems);
  Error(std::string where, std::string what, std::string hint = {});

  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// A failure while running that is not the input's fault (a peer died, a loss became NaN, the disk
// is full). Exit code 3.
class RunError : public Error {
 public:
  using Error::Error;
};

}  // namespace penstock
