#include "pool.h"

#include <algorithm>
#include <utility>

namespace penstock {

void Pool::add(Candidate candidate) {
  const auto place = std::upper_bound(
      candidates_.begin(), candidates_.end(), candidate,
      [](const Candidate& a, const Candidate& b) { return a.makespan < b.makespan; });
  if (static_cast<std::size_t>(place - candidates_.begin()) == most_) return;
  const bool known = std::any_of(candidates_.begin(), place, [&](const Candidate& other) {
    return other.makespan == candidate.makespan && other.order == candidate.order;
  });
  if (known) return;
  candidates_.insert(place, std::move(candidate));
  if (candidates_.size() > most_) candidates_.pop_back();
}

}  // namespace penstock
