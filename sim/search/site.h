// File: site.h. One way to place the stages, and what the search knows about it.
#pragma once

#include <string>
#include <vector>

#include "budget.h"
#include "instance.h"
#include "penstock/schedule.h"
#include "pool.h"
#include "random.h"

namespace penstock {

class Site {
 public:
  // Keeps whatever candidates it is given within the instance's limits.
  Site(Instance instance, std::uint64_t seed);

  const Instance& instance() const { return instance_; }
  // Empty until plant() or construct() found something.
  const Pool& pool() const { return pool_; }
  // No order is faster: the ops alone, without the step's end. REQUIRES: find_bound().
  Nanoseconds bound() const { return bound_; }
  bool is_closed() const { return !pool_.empty() && pool_.best().makespan <= bound_; }

  // Adds a schedule of the catalogue, and what it becomes when its backwards are split. One that
  // breaks a limit or the allowed form of the backward is left out.
  // REQUIRES: check(schedule).empty(); its pipeline is the instance's.
  void plant(const Schedule& schedule);
  // The order that keeps every limit that can be kept.
  void plant_one_at_a_time();
  // REQUIRES: all plants are planted, for pairs of ops change the bound.
  void find_bound();
  void construct(Budget& budget);
  // Spends the budget, unless the best found is as fast as the bound.
  void improve(Budget& budget);
  // Narrows the windows of small instances below `reached`, then solves them as an integer
  // programme of at most `nodes` nodes.
  void prove(Nanoseconds reached, std::int32_t nodes);

 private:
  void plant(Order order, const std::string& origin);
  Candidate varied(const Candidate& candidate, std::size_t round, Budget& budget);

  Instance instance_;
  Random random_;
  Pool pool_;
  bool pairs_ = false;  // an order here overlaps ops
  Nanoseconds bound_ = 0;
};

}  // namespace penstock
