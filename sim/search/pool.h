// File: pool.h. The best orders found so far.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "order.h"

namespace penstock {

struct Candidate {
  Order order;
  Nanoseconds makespan = 0;
  std::string origin = {};
};

// At most `most` candidates, the fastest first; of equals the first found stays before.
class Pool {
 public:
  explicit Pool(std::size_t most) : most_(most) {}

  void add(Candidate candidate);
  bool empty() const { return candidates_.empty(); }
  const Candidate& best() const { return candidates_.front(); }
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  std::size_t most_;
  std::vector<Candidate> candidates_;
};

}  // namespace penstock
