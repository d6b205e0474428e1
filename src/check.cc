#include "penstock/check.h"

#include "check_order.h"
#include "check_pipeline.h"
#include "check_placement.h"
#include "check_updates.h"
#include "deadlock_ring.h"
#include "linear_order.h"
#include "penstock/depend.h"
#include "problem_list.h"

namespace penstock {

std::vector<Problem> check(const Schedule& schedule, const std::string& source) {
  ProblemList problems;
  check_pipeline(schedule, source, problems);
  if (!problems.empty()) return problems.take();
  if (const auto moved = check_placement(schedule, source, problems)) {
    check_order(*moved, Dependencies(moved->pipeline), source, problems);
    check_updates(*moved, source, problems);
    return problems.take();
  }
  const Dependencies dependencies(schedule.pipeline);
  check_order(schedule, dependencies, source, problems);
  check_updates(schedule, source, problems);
  if (!problems.empty()) return problems.take();
  const LinearOrder order = linear_order(schedule, dependencies);
  if (order.complete) return {};
  for (Problem& ring : deadlock_rings(schedule, dependencies, order, source)) {
    problems.add([&] { return std::move(ring); });
  }
  return problems.take();
}

}  // namespace penstock
