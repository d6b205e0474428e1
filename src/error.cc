#include "penstock/error.h"

#include <cassert>
#include <utility>

namespace penstock {
namespace {

std::string joined(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += to_string(problem);
  }
  return text;
}

}  // namespace

std::string to_string(const Problem& problem) {
  std::string text = problem.where.empty() ? problem.what : problem.where + ": " + problem.what;
  if (!problem.hint.empty()) text += "\n  hint: " + problem.hint;
  return text;
}

Error::Error(Problem problem) : Error(std::vector<Problem>{std::move(problem)}) {}

Error::Error(std::vector<Problem> problems)
    : std::runtime_error(joined(problems)), problems_(std::move(problems)) {
  assert(!problems_.empty() && "an Error says what is wrong");
}

Error::Error(std::string where, std::string what, std::string hint)
    : Error(Problem{std::move(where), std::move(what), std::move(hint)}) {}

}  // namespace penstock
