#include "lower/place.h"
#include "penstock/deadlock.h"

namespace penstock {

void place_paired(Program& program) {
  std::vector<std::vector<Action>> linear = program.actions;
  place_naive(program);
  if (!check_transport(program, TransportKind::Grouped).fine()) program.actions = std::move(linear);
}

}  // namespace penstock
