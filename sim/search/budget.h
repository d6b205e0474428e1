// File: budget.h. How many orders may still be priced: the search's only clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

class Budget {
 public:
  explicit Budget(std::int64_t orders) : left_(orders) {}

  // False when nothing is left.
  bool spend(std::int64_t orders = 1) {
    if (left_ == 0) return false;
    left_ = std::max<std::int64_t>(0, left_ - orders);
    return true;
  }
  std::int64_t left() const { return left_; }

  // A part of it for somebody else, who gives back what is left.
  Budget take(std::int64_t orders) {
    left_ -= orders;
    return Budget(orders);
  }
  void give_back(const Budget& part) { left_ += part.left_; }

 private:
  std::int64_t left_;
};

}  // namespace penstock
